"""Make FaithShift: items -> traces -> interventions -> labels -> pairs -> a dataset folder."""
