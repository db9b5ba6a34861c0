"""English phrases of reasoning that may stand for one another: the table behind ``rewording``.

A line is a rule. ``a = b = c``: each may become any other. ``a > b | c``: only from left to
right. ``^`` stands for the start of a step, and ``@`` for the words of which one must follow.
No rule holds a number, a quantity in words or a domain's own vocabulary; a negation stays one.
"""

RULES = """
^so, = ^thus, = ^therefore, = ^hence,
^then, = ^next, = ^after that,
^finally, = ^lastly, = ^in the end,
^first, > ^to begin with, | ^to start with,
^now, > ^at this point,
^however, = ^still, = ^even so,
^but, > ^still, | ^even so,
^also, = ^in addition, = ^besides,
^additionally, > ^in addition, | ^besides,
^furthermore, = ^moreover,
^in other words, = ^put differently, = ^that is to say,
^as a result, = ^consequently, = ^accordingly,
^for example, = ^for instance,
^in this case, = ^here,
^overall, = ^all in all, = ^on the whole,
^similarly, = ^likewise, = ^in the same way,
^on the other hand, > ^by contrast,
^to do this, > ^for this, | ^to this end,
^to do so, > ^for this, | ^to this end,
^if so, > ^in that case,
^since @we|the|there|each|this > ^because | ^given that | ^as
^because @we|the|there|each|this > ^since | ^given that | ^as
^if @we|the|there|this|you|a|an > ^supposing | ^assuming
^when @we|you > ^once | ^whenever
^so @we|the|there|this|it|they|he|she|if > ^thus | ^hence | ^therefore
^then @we|the|there|this|it|they|he|she > ^after that, | ^next,
, so @we|the|there|this|it|it's|they|he|she|you > , and so | , hence | , thus
, but > , yet
, because > , since | , as
because @it|the|we|they|there|this|he|she|a > since | given that
because of = owing to = on account of
due to > because of | owing to
even though > although
for example > for instance
for instance > for example
such as > like | for instance
as well as > and also | along with
in addition to > besides
instead of = rather than
in order to = so as to
based on > going by | on the basis of
given that > seeing that | in view of the fact that
in total = altogether = in all
and then > and after that | and next
at the same time > simultaneously | at once
in this case > here

it's @a|an|the|likely|possible|important|clear|true|also|in|on|made|used|only > it is
it is @a|an|the|likely|possible|clear|true|also|in|on|made|used|only > it's
that's > that is
that is @a|an|the|why|how|what|also > that's
there's @a|an|only > there is
there is @a|an|only > there's
what's > what is
let's = let us
we're = we are
they're = they are
you're = you are
i'm = i am
we'll = we will
you'll = you will
it'll = it will
we've @got|found|seen|been|already|identified|determined > we have
don't = do not
doesn't = does not
didn't = did not
isn't = is not
aren't = are not
wasn't = was not
weren't = were not
can't = cannot
can not > cannot | can't
won't = will not
couldn't = could not
wouldn't = would not
shouldn't = should not
haven't = have not
hasn't = has not

we need to = we have to = we must
you need to = you have to = you must
i need to = i have to = i must
needs to = has to
we should > we ought to
we want to > we wish to | we would like to
we are given @a|an|the|that > we are told of
we know that > we are aware that | it is known that
we know the > we are aware of the
we can see that = it can be seen that = it is plain to see that
we can conclude > we may conclude
we can say > it can be said
we can use > we may use
we can find > it is possible to find | we are able to find
we can determine > it is possible to determine | we are able to establish
we can identify > it is possible to identify | we are able to pinpoint
we can @also|then|now|only|simply|add|subtract|divide|multiply|calculate > we may | we could
you can @also|then|now|only|simply|add|subtract|divide|multiply|use|see > you may | you could
we think = we believe
i think = i believe
we get @\\d|the|a|an|that > we obtain | we arrive at
to get @\\d|the|a|an|our > to obtain | to arrive at
gives us = yields = leaves us with
it is clear that = it is plain that = it is evident that
it is likely that = it is probable that
it is important to > it matters to
it's important to > it matters to
note that = observe that
remember that = recall that
keep in mind that > bear in mind that
this is because > the reason is that
the reason is that > this is because
this means that = this implies that = it follows that
means that > implies that
this means > this implies
can be found by > can be obtained by
is made up of = consists of
is equal to = equals
are equal to > equal
is the same as > is identical to
is based on > rests on
is related to > has to do with
is used to > serves to
is used for > serves for
is likely to > will probably
is called = is known as
is also > is likewise
are also > are likewise
can also > can likewise
we also > we likewise
is only > is just
are only > are just
can only > can just
the most likely > the most probable
more likely > more probable
less likely > less probable
the answer is > the solution is
the answers are > the solutions are
the correct = the right
is correct > is right
is incorrect > is wrong
is wrong > is incorrect
the information provided > the information given
the information given > the information provided
given information > stated information
the given > the stated
the following @steps|options|information|facts|events|numbers|words|possibilities > these
the number of > the count of
the total number of > the overall count of
total number > overall number
the amount of > the quantity of
a lot of > a great deal of | plenty of
type of > kind of | sort of
types of = kinds of = sorts of
each @day|week|month|year|friend|person|box|number|event|option|word > every
the question is asking > the question asks
the problem is asking > the problem asks
asks us to > wants us to
help us @find|determine|understand|identify|solve|see|decide > enable us to
a person who > someone who
people who > those who
add up to > come to | sum to
adds up to > comes to | sums to

identify > pinpoint | establish
determine = establish
identifying > pinpointing | establishing
determining = establishing
identified > pinpointed | established
determined = established
determines = establishes
calculate = compute = work out
calculates = computes = works out
calculated = computed = worked out
calculating = computing = working out
calculation = computation
calculations = computations
subtract @\\d|the|this|these > take away
subtracting @\\d|the|this|these > taking away
find the @total|number|sum|difference|answer|value|remainder|amount|cost|missing > work out the
find out > work out | figure out
figure out > work out | find out
choose = pick = select
chooses = picks = selects
choosing = picking = selecting
consider = look at = think about
considering @the|all|each|both|how > looking at | thinking about
analyze = examine = go through
analyzing = examining = going through
understand > grasp | make sense of
understanding > grasping | making sense of
break down > split up | take apart
solve the > work through the | tackle the
solve this > work through this | tackle this
solve for > work out
solving > working through
use the @formula|rule|equation|fact|pattern|information|concept|method|property > apply the
using the @formula|rule|equation|fact|pattern|information|concept|method > by means of the
show that > make it plain that
explain > spell out | make plain
conclude > infer | gather
assume = suppose
assuming = supposing
represents > stands for
represent > stand for
requires > calls for
require > call for
involves > entails
seems = appears
seem = appear
provides > offers
provide > give | offer
eliminate > rule out | discard
mentioned > named | brought up
located > situated
try to = attempt to
make sure > ensure
look like > resemble
looks like > resembles
happen = occur
happens = occurs
happened = occurred
refers to > means
known as > called
start @with|by|at|from|to > begin
starting @with|by|at|from > beginning

the process = the procedure
this process = this procedure
outcome = result
outcomes = results
scenario = situation
scenarios = situations
options = choices = alternatives
option > choice
explanation > account
various > several
multiple @options|steps|ways|choices|people|outcomes|times|events > several
usually = normally = typically
generally > as a rule
often > frequently
probably > presumably
possibly > perhaps
actually > in fact
simply > just
exactly > precisely
initially > at first
currently > at present
additional > further
specific > particular
"""
