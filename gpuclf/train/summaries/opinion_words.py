"""Words by which people praise and blame in reviews, with how strongly they do: the list of the lexicon's polarity.

Written for this package from what reviews of restaurants, shops, hotels and things talk about. Words stand here in one
of their forms; `gpuclf.train.summaries.lemmas.folded` finds the others. A phrase counts as a whole.
"""

from __future__ import annotations

from gpuclf.train.summaries.lemmas import folded, words_of

_STRONG_PRAISE = """
addicting addictive adore amazing awesome awesomeness best bliss bomb brilliant delectable delicious delish divine
excellent exceptional exceptionally exquisite extraordinary fabulous fantastic fantastically flawless flawlessly
gorgeous heaven heavenly impeccable impeccably incredible incredibly killer legendary love loved loves magnificent
marvelous masterpiece mouthwatering orgasmic outstanding perfect perfection perfectly phenomenal phenomenally
scrumptious spectacular splendid stellar stunning sublime superb superbly superior terrific unbeatable unbelievable
unforgettable unmatched unrivaled wonderful wonderfully wow yum yumm yummm yummy
"""
_PRAISE = """
abundant accessible accommodate accommodating accurate admire adorable affordable affordably ample aromatic attentive
attractive authentic authenticity balanced bargain beautiful beautifully beauty better bonus bountiful bravo bright
buttery calm casual charm charming cheap cheerful classy clean cleanly clear comfort comfortable comfortably comfy
compact complement compliment complimentary congenial considerate consistent consistently convenient conveniently cool
cosy courteous cozy crave craved craving creamy creative crisp crispy crunchy cute darling decadent decent decently
delicate delight delightful delightfully dependable divinely durable eager easily easy economical effective
effectively efficient efficiently elegant energetic engaging enjoy enjoyable enjoyed enjoys entertaining enthusiastic
ergonomic exceed exceeds excited exciting fair fairly-priced fan fancy fast fave favorite favourite filling fine
five-star flaky flavored flavorful flavorsome flavourful flexible fluffy fresh freshest freshly friendliest
friendliness friendly fun funny gem generous generously genuine genuinely glad good goodness gourmet gracious great
greatest greatly handy happily happy healthy heartwarming hearty hefty helped helpful hip hmmm homemade homestyle
homey honest hooked hospitable hospitality huge ideal ideally immaculate impress impressed impressive impressively
improved improvement incredible-value inexpensive informative innovative instant interesting intimate intuitive
inventive inviting juicy kick-ass kind kindness knowledgeable kudos laid-back large light likable like liked likes
lively lovely lovingly low-key lucky luscious luxurious massive memorable mmm mmmm modern moist neat neatly nice
nicely nicest no-nonsense organized original passionate patient peaceful personable phenom picturesque pleasant
pleasantly pleased pleasing pleasure plentiful plenty plush polite politely popular portable posh powerful premium
prettier pretty prized professional professionalism professionally prompt promptly proper properly proud quaint
quality quick quickest quickly quiet reasonable reasonably recommend recommendation recommended recommends refined
refreshing refreshingly relaxed relaxing reliable reliably responsive reward rich robust romantic satisfactory
satisfied satisfy satisfying savory savoury scenic seamless seasoned sharp sleek smart smile smiling smooth smoothly
snappy soft solid solidly soothing sophisticated spacious special speciality spectacularly speedy spot-on spotless
stable steal strong sturdy stylish succeed success successful succulent suitable sweet sweetest swift tangy tastiest
tasty tender terrifically thank thankful thanks thorough thoughtful thoughtfully thrilled tidy timely toasty top
top-notch topnotch treat trendy true trust trustworthy unique upbeat upscale useful value varied variety velvety
versatile vibrant warm warmly warmth welcome welcomed welcoming well well-cooked well-made well-prepared well-priced
well-seasoned wholesome win winner winning worked works worth worthwhile worthy yay zesty
"""
_BLAME = """
abrupt absent aggressive annoy annoyed annoying annoyingly apathetic arrogant artificial attitude average avoid
awkward awkwardly bad badly basic bitter blah bland blurry bored boring bother bothersome break breaks broke broken
bug bug-infested buggy bulky bummer bump burn burned burns burnt careless cartilage chaotic charred cheaply cheesy
chewy clog clueless clumsy clunky cockroach cold complain complained complaining complaint complaints complicated con
confused confusing congealed crack cracked cramped crash crashed crashes crowded crummy cumbersome curt damage damaged
damp dark dated dead deceptive defect defective deficient delay delayed deny depressing deteriorate die died dies
difficult difficulty dingy dirty disappear disappeared disappoint disappointed disappointing disappointingly
disappointment disinterested dismal dismissive disorganized displeased disrespectful dissatisfied dissatisfying
distracting dodgy doughy drab drawback dreary dry dull dumb dumped error excuse exorbitant expensive fail failed fails
failure fake fattening faulty filthy flat flavorless flavourless flaw flawed flimsy fly-infested forget forgettable
forgot forgotten frozen frustrated frustrating frustration fuzzy gimmicky glitch gloomy grease greasy grimy gripe
gristle gross grudgingly grumpy hair half-cooked half-hearted hard hassle hate hated hates heartburn heavy hectic
hiccup horrid hostile ignorant ignore ignored ignoring impatent impatient impersonal impolite imposing impossible
inaccurate inadequate inattentive incompetent inconsiderate inconsistent inconvenient indifferent inedible ineffective
inefficient inexperienced inferior inflexible insipid insult insulted insulting interrupt irritate irritated
irritating jam jammed jerk joke lack lacked lacking lackluster lacklustre lacks lame late lazy leak leaky let-down
letdown limp long loud lousy lukewarm lumpy mad mediocre meh mess messed messy microwaved miserable misleading miss
missed missing mistake mistaken mistakes moldy monotonous mushy narrow negative neglect neglected noise noisy nothing
nowhere obnoxious odd odor off-putting oily outdated overbearing overcharge overcharged overcook overcooked
overcrowded overdone overhyped overloaded overly overpowered overpowering overpriced overrated oversalted overseasoned
overwhelmed overwhelming pathetic pitiful plain poisoning poor poorly pretentious pricey pricy problem problematic
problems pushy questionable raw refuse refused regret regrettable reject return returned rip-off ripoff roach rotten
rough rubbery rude rudely rudeness run-down rundown rushed sad sadly salty scam scarce scary scratch scratched shabby
shaky shame sick skimpy slimy sloppy slow slow-moving slowly slowness small smelled smelly snobby snooty snotty soggy
sore sorry sour spill spilled spotty stained stale stiff stingy stink stinks stuck stuffy stupid sub-par subpar suck
sucked sucks suffer surly suspicious tacky tasteless tedious terse thin threw throwing tight tiny tired tiresome tough
touristy tricky trouble turn-off ugly unacceptable unappealing unappetizing unattentive unavailable uncomfortable
uncooked under-seasoned undercooked underdone underseasoned understaffed underwhelmed underwhelming uneven unfair
unfortunate unfortunately unfresh unfriendly unhappy unhelpful unimpressed unimpressive uninspired uninspiring
uninterested uninteresting unorganized unpleasant unprofessional unreasonable unreliable unresponsive unsafe
unsanitary unsatisfied unsatisfying unseasoned unstable unwelcome unwelcoming upset upsetting useless vague wait
waited waiting warned warning waste wasted watered-down watery weak weird wilted worn worry worse worthless wrong yuck
yucky zero
"""
_STRONG_BLAME = """
abysmal appalling atrocious awful awfully crap crappy despicable disaster disastrous disgrace disgraceful disgust
disgusted disgusting dreadful garbage hell hideous horrendous horrible horribly horror junk nasty nauseating nightmare
repulsive revolting ridiculous ridiculously shameful shit shitty terrible terribly trash unbearable unusable vile
vomit worst
"""
_PHRASES = {
    2.0: """melt in your mouth; melts in your mouth; out of this world; to die for; second to none; blown away;
        knocked my socks off; top notch; can't get enough; couldn't get enough; can't go wrong; cannot go wrong;
        could not be better; couldn't be better; couldn't have been better; can't be beat; can't beat; cannot
        beat; hands down; never disappoints; never disappointed; never fails; five stars; 5 stars; home run;
        blew me away""",
    1.0: """go back; come back; coming back; going back; be back; must try; must have; a must; worth it; worth the;
        worth every; well worth; on point; on top of; spot on; right on; low prices; low price; never a bad;
        never had a bad; no room for improvement; not a bad; melt; in and out; good value; great value; well
        done; hit the spot; better than average; above average; looking forward; can't wait; cannot wait; highly
        recommend; would recommend; can't complain; no complaints; no problem; no problems; not bad; not too
        bad; not disappointed; will not disappoint; won't disappoint; not be disappointed; won't be
        disappointed; won't regret; not regret; cooked to perfection; to perfection; down to earth; like home;
        made us feel; went out of their way; go out of their way; went above and beyond; above and beyond; quick
        bite; keep it up; does the trick; loaded with; packed with; full of flavor; great deal; good deal; for
        the money; big portion; big portions; huge portion; huge portions; good sized; large portions; bang for;
        easy on; not greasy; not oily; not too sweet; not overpowering; isn't bad; isn't greasy; wasn't greasy;
        on the money; check it out; worth a""",
    0.0: """hot and sour; sweet and sour; hot & sour; sour cream; long island; well as; as well; fried rice; bitter
        melon; hard boiled; hard shell; soft shell; small plates; small plate; dark chocolate; dark meat; dark
        beer; cold brew; cold beer; cold noodles; iced; late night; late for; happy hour; hot sauce; dry rub;
        dry aged; sour soup; plain and simple; sweet potato; sweet potatoes; sweet tea; sweet corn; wait staff;
        waitstaff; waiting staff; were like; was like; is like; it's like; are like; ridiculous how; kind of;
        what kind; this kind; feel like; felt like; looks like; look like; looked like; tastes like; tasted
        like; taste like; seemed like; something like; sounds like; like a; like the; would like to; i'd like
        to; if you like; more like; just like; like this; like that; like it was; like we were; like you;
        looking like; well known; thin crust; deep dish; light rail; break fast; fine dining; fresh air; white
        trash; dead on; raw bar; raw fish; long time; too much; clear soup; burnt ends; sticky rice; whole
        wheat; low key; heavy cream; thank goodness; for good; good luck; good old; good for you; pretty much;
        long as; tough call; hard to beat; special occasion; the special; daily special; specials; top of; on
        top; quality of; value of; the quality; smile when""",
    -1.0: """no excuse; no idea; prices are high; high prices; don't go; do not go; don't bother; out of our price;
        hit or miss; hit and miss; so so; stay away; nothing special; nothing great; nothing to write home
        about; not impressed; not worth; isn't worth; wasn't worth; not that great; not so great; not very good;
        not good; rip off; rips off; ripped off; over priced; over cooked; under cooked; over rated; let down;
        turned off; too long; too small; too salty; too sweet; too loud; too expensive; too much salt; too dry;
        too greasy; a bit slow; on the pricey side; on the small side; on the salty side; room for improvement;
        could be better; could have been better; could use; could've been; should have been; leaves much to be
        desired; much to be desired; lot to be desired; run down; worn out; fell apart; falls apart; falling
        apart; stopped working; had to wait; had to ask; took forever; takes forever; took an hour; took so
        long; sent back; send it back; send back; never came; never got; never again; never return; never go
        back; won't be back; will not be back; not be back; won't go back; won't be going back; not go back; not
        going back; won't come back; not come back; would not recommend; wouldn't recommend; don't recommend; do
        not recommend; cannot recommend; not recommend; no flavor; no taste; lacks flavor; lack of; out of
        order; no longer; not fresh; not enough; not hot; not warm; not friendly; not helpful; better places;
        better elsewhere; used to be; off putting; small portions; small portion; tiny portions; mixed bag; fell
        short; falls short; nothing but problems; had problems; customer service line; one star; two stars; 1
        star; 2 stars; at best; for nothing; does not work; doesn't work; didn't work; don't work; did not work;
        do not work; overly sweet; as if we were; rolled her eyes; walked out; no one came; no refills; had to
        flag; gone downhill; went downhill; going downhill""",
    -2.0: """stay far away; waste of; food poisoning; made me sick; got sick; worst ever; give it zero; zero stars; a
        joke; beyond bad; rude and; slap in the face; never ever; got ripped off; health hazard""",
}


def _table(strengths: dict[float, str]) -> dict[str, float]:
    """Words as they stand and folded; of forms that fold alike the first counts."""
    table: dict[str, float] = {}
    for strength, words in strengths.items():
        for word in words.split():
            table.setdefault(word, strength)
    for word, strength in list(table.items()):
        table.setdefault(folded(word), strength)
    return table


WORDS = _table({2.0: _STRONG_PRAISE, -2.0: _STRONG_BLAME, 1.0: _PRAISE, -1.0: _BLAME})
PHRASES = {tuple(words_of(phrase)): strength for strength, phrases in _PHRASES.items() for phrase in phrases.split(";")}
LONGEST_PHRASE = max(map(len, PHRASES))
