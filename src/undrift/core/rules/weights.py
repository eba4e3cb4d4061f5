"""The weights of `likely`, in hundredths, by feature. `python -m bench.fit_rules` writes them. Pure."""

__all__ = ["BIAS", "WEIGHTS"]

BIAS = -3.13
WEIGHTS = """
b/0+)=15 b/0+0=-9 b/0+<c>=-18 b/0+are=-7 b/0+changed=-8 b/0+characters=20 b/0+is=23 b/0+lines=16 b/0+mb=10
b/<c>+0=-6 b/<c>+and=-41 b/<c>+as=9 b/<c>+both=8 b/<c>+but=-21 b/<c>+don't=-16 b/<c>+i=-12 b/<c>+in=5 b/<c>+look=11
b/<c>+no=8 b/<c>+not=-13 b/<c>+only=-49 b/<c>+pathx=6 b/<c>+say=18 b/<c>+so=48 b/<c>+sorry=-11 b/<c>+that=-10
b/<c>+that's=18 b/<c>+the=-40 b/<c>+then=14 b/<c>+those=17 b/<c>+use=16 b/<c>+we=-5 b/<c>+write=44 b/<c>+you=5
b/<n>+0=-78 b/<n>+a=18 b/<n>+no=9 b/<n>+pathx=-50 b/<n>+the=-15 b/a+plan=-6 b/a+script=-12 b/about+a=22
b/about+the=-13 b/add+the=-7 b/again+<c>=6 b/again+and=-16 b/all+of=6 b/an+empty=15 b/and+go=-10 b/and+i=-8
b/and+keep=10 b/and+only=-39 b/and+quit=11 b/and+show=-6 b/and+tell=-7 b/and+the=14 b/are+in=-30 b/as+a=11
b/as+an=-18 b/as+you=25 b/at+the=47 b/before+it=11 b/before+you=19 b/build+the=-10 b/but+not=23 b/by+hand=39
b/by+the=5 b/can+you=-21 b/change+the=-17 b/check+with=28 b/code+<c>=-13 b/code+in=-10 b/come+from=29
b/comments+in=8 b/commit+messages=14 b/dev+server=10 b/diff+<c>=-23 b/do+it=14 b/docs+<c>=8 b/docs+and=9
b/don't+change=-7 b/don't+touch=17 b/don't+want=-7 b/end+of=28 b/env+files=20 b/feature+flags=19 b/first+<c>=47
b/fix+the=15 b/for+all=-13 b/for+the=-27 b/for+this=-12 b/from+here=15 b/from+pathx=8 b/from+the=-19 b/go+ahead=8
b/go+on=-6 b/goes+through=26 b/hands+off=22 b/have+a=-9 b/how+to=-9 b/i+ask=6 b/i+don't=-6 b/i+expect=28
b/i+need=-14 b/i+read=-10 b/i+said=16 b/i+say=14 b/i+want=35 b/if+a=9 b/if+the=-19 b/if+you=8 b/in+a=-27 b/in+all=36
b/in+english=21 b/in+this=-15 b/instead+of=16 b/is+empty=-5 b/is+fine=-18 b/is+in=-13 b/is+not=7 b/is+off=20
b/is+ok=22 b/is+only=-7 b/is+the=-30 b/is+through=15 b/is+what=-10 b/it+<c>=16 b/it+from=-8 b/it+in=-16 b/it+is=-7
b/it+with=7 b/keep+the=9 b/laptop+<c>=7 b/leave+the=17 b/like+to=12 b/look+at=-17 b/look+into=-38 b/make+it=-13
b/make+sure=23 b/make+the=-12 b/may+be=24 b/me+the=13 b/me+which=-7 b/must+be=16 b/must+never=-9 b/must+not=10
b/my+laptop=-5 b/need+a=5 b/need+to=-18 b/never+be=-17 b/never+mind=9 b/never+use=18 b/new+endpoint=6 b/no+<c>=-14
b/no+longer=10 b/no+more=14 b/no+need=9 b/not+for=36 b/now+<c>=-7 b/now+<n>=5 b/now+the=-6 b/of+each=28 b/of+the=-9
b/of+them=-18 b/of+this=6 b/older+than=9 b/on+a=10 b/on+my=-14 b/on+pathx=-5 b/on+the=-15 b/on+this=23
b/on+windows=-5 b/only+the=-35 b/pathx+<c>=19 b/pathx+<n>=-66 b/pathx+and=-11 b/pathx+in=-21 b/pathx+is=74
b/pathx+to=-13 b/please+<c>=13 b/put+the=-6 b/rename+the=-13 b/rule+is=13 b/run+the=-6 b/say+so=23 b/see+if=-8
b/should+be=-26 b/show+me=15 b/so+<n>=-11 b/so+that=-18 b/so+the=8 b/tests+for=-5 b/than+that=18 b/that+the=-15
b/the+api=-19 b/the+bug=-7 b/the+build=-10 b/the+cache=-7 b/the+changelog=10 b/the+code=10 b/the+dev=10
b/the+diff=34 b/the+end=28 b/the+env=18 b/the+file=-8 b/the+flaky=-14 b/the+form=-8 b/the+full=9 b/the+import=-5
b/the+last=-9 b/the+linter=10 b/the+list=-13 b/the+logs=19 b/the+new=-9 b/the+old=-9 b/the+plan=-9 b/the+readme=-13
b/the+repo=19 b/the+rest=9 b/the+same=-22 b/the+test=-20 b/the+tests=-17 b/the+ticket=12 b/the+way=-9 b/the+whole=15
b/there+and=-9 b/there+are=-9 b/thing+<c>=16 b/thing+<n>=8 b/this+one=-16 b/this+project=14 b/this+repo=6
b/through+pathx=12 b/through+the=24 b/ticket+number=13 b/to+a=32 b/to+be=-11 b/to+run=18 b/to+the=23 b/today+is=-11
b/under+no=7 b/under+pathx=27 b/unit+tests=-7 b/unless+i=5 b/up+in=9 b/up+the=11 b/use+the=-14 b/v+0=-9 b/want+to=10
b/we+don't=-6 b/we+have=-5 b/we+need=-14 b/what+i=22 b/what+the=-14 b/when+i=10 b/whenever+you=10 b/with+a=-16
b/with+me=14 b/work+on=18 b/write+a=-18 b/write+the=-27 b/yes+<c>=11 b/you+are=-19 b/you+can=12 b/you+do=-18
b/you+like=20 b/you+may=9 b/you+write=11 b/your+last=-9 first/0=-22 first/about=7 first/add=-10 first/all=12
first/always=27 first/and=13 first/be=31 first/before=16 first/build=-11 first/can=-18 first/continue=11
first/could=10 first/customer=34 first/do=-12 first/dont=11 first/find=-6 first/first=-11 first/fix=13 first/for=28
first/get=-6 first/go=-6 first/hmm=-7 first/i=-24 first/i'm=-12 first/if=-11 first/implement=-7 first/in=29
first/is=10 first/it=-6 first/it's=5 first/keep=36 first/leave=-9 first/let's=-24 first/log=10 first/look=-13
first/make=-7 first/never=-7 first/new=24 first/nothing=23 first/now=-18 first/ok=-48 first/one=45 first/only=14
first/our=13 first/pathx=61 first/please=-13 first/put=-11 first/remove=-8 first/run=-7 first/so=-23 first/start=-12
first/stop=-7 first/tests=22 first/thanks=-6 first/the=-8 first/then=-23 first/there=11 first/treat=22 first/two=-7
first/under=7 first/use=19 first/we=19 first/whatever=32 first/when=-9 first/whenever=6 first/why=-13
first/write=-11 first/you=27 first/you're=-8 last/)=-14 last/0=-54 last/<n>=-73 last/<q>=-60 last/<x>=-6
last/again=39 last/change=33 last/code=45 last/commit=17 last/directly=7 last/else=24 last/english=13 last/ever=33
last/everywhere=27 last/file=17 last/first=-7 last/fix=14 last/form=-5 last/hand=22 last/header=11 last/here=27
last/it=17 last/like=19 last/me=-13 last/message=-11 last/module=13 last/nothing=-7 last/now=44 last/number=-9
last/off=48 last/on=-15 last/one=-17 last/only=31 last/out=40 last/pathx=-42 last/please=19 last/pr=-8 last/repo=-9
last/run=-14 last/staging=22 last/team=-11 last/tests=16 last/that=-21 last/them=18 last/there=-6 last/time=15
last/today=14 last/too=21 last/twice=-8 last/up=7 last/works=-6 last/wrong=-13 last/yet=-31 last/yourself=9
s/asks=-68 s/bids=60 s/claims=-40 s/contrasts=89 s/describes=-6 s/forbids=217 s/from_now_on=22 s/holds_on=98
s/job=-77 s/lasts=159 s/lifts=140 s/limits=53 s/may_lift=100 s/norm=191 s/of_the_work=129 s/once=-40 s/past=-21
s/proposes=-84 s/reports=-28 s/spreads=112 s/style=124 s/use_not=72 s/wishes=71 size/0=-62 size/1=14 size/2=39
size/3=64 size/4=39 size/6=-98 w/(=-24 w/)=-6 w/0=-10 w/<c>=73 w/<n>=-31 w/<q>=-66 w/<s>=19 w/<x>=-12 w/a=-9
w/about=28 w/add=-37 w/after=-8 w/again=19 w/against=10 w/ahead=8 w/all=23 w/allowed=26 w/alone=24 w/already=-20
w/alright=18 w/also=-20 w/always=9 w/am=-20 w/an=-8 w/and=20 w/answer=-6 w/any=16 w/anything=25 w/anywhere=8
w/apply=31 w/are=70 w/as=30 w/ask=38 w/at=-35 w/attached=-10 w/audit=10 w/because=-31 w/before=59 w/begin=-8
w/both=-28 w/branch=-25 w/branches=35 w/breaks=18 w/broke=-7 w/broken=19 w/build=-36 w/but=-20 w/button=-20 w/by=28
w/cache=-14 w/can=-73 w/can't=-23 w/case=-39 w/changelog=8 w/changes=-14 w/characters=20 w/check=-9 w/checked=25
w/checkout=-16 w/classes=31 w/clean=5 w/client=-12 w/code=33 w/codebase=-6 w/come=51 w/comments=39 w/commit=29
w/commits=27 w/components=-5 w/config=12 w/container=30 w/could=-30 w/customer=38 w/cut=-10 w/data=16 w/database=37
w/dates=15 w/days=-8 w/default=21 w/delete=34 w/dependencies=23 w/deploy=25 w/dev=10 w/develop=11 w/did=-7 w/diff=16
w/difference=-12 w/directly=8 w/disk=9 w/do=-26 w/docs=15 w/does=-23 w/doesn't=17 w/don't=42 w/done=11 w/dont=13
w/e=-14 w/each=27 w/edit=19 w/else=9 w/emojis=10 w/empty=-34 w/end=33 w/endpoint=21 w/ends=7 w/english=34 w/entry=-5
w/env=7 w/error=-20 w/errors=14 w/even=15 w/ever=17 w/every=61 w/everywhere=45 w/expect=27 w/explain=-9 w/fail=-14
w/feature=39 w/field=-20 w/files=63 w/find=-8 w/fine=-21 w/finish=9 w/first=10 w/five=6 w/fix=-9 w/flag=12
w/flags=19 w/flaky=-16 w/folder=19 w/footer=-6 w/for=14 w/force=40 w/forget=31 w/form=-11 w/format=21 w/found=-17
w/four=-13 w/free=16 w/freeze=36 w/from=12 w/full=-20 w/function=-12 w/functions=30 w/generated=32 w/german=24
w/get=-6 w/gets=42 w/globally=18 w/go=-14 w/goes=31 w/going=-22 w/gone=38 w/good=-29 w/got=36 w/green=12 w/guess=-12
w/guide=-10 w/had=-13 w/half=15 w/hand=39 w/hands=22 w/happens=-12 w/has=20 w/have=-24 w/here=38 w/here's=-7
w/hints=14 w/history=20 w/hmm=-7 w/holds=28 w/host=8 w/how=16 w/html=19 w/i=32 w/i'd=-10 w/i'm=-5 w/id=-8 w/if=-56
w/implement=-15 w/imports=6 w/in=46 w/index=-8 w/inline=5 w/install=-12 w/instead=25 w/is=39 w/isn't=50 w/iso=25
w/it=-10 w/it's=31 w/its=10 w/itself=-31 w/job=-26 w/just=-44 w/keep=37 w/key=-32 w/keyboard=7 w/keys=-47 w/know=-23
w/laptop=-9 w/last=-15 w/lawyers=15 w/lease=-22 w/leave=13 w/let's=-44 w/licence=24 w/like=11 w/limit=30 w/line=-10
w/lines=27 w/links=16 w/linter=10 w/list=-44 w/live=33 w/loading=-23 w/local=-23 w/log=12 w/logo=-6 w/logs=20
w/longer=7 w/look=-17 w/lost=12 w/machine=-6 w/mail=12 w/main=-8 w/make=-32 w/manifests=-9 w/may=11 w/mb=10 w/me=14
w/merge=6 w/merged=-13 w/message=-19 w/messages=47 w/migration=17 w/migrations=10 w/mode=-23 w/model=-16 w/module=11
w/morning=8 w/move=21 w/my=44 w/name=8 w/names=23 w/naming=12 w/need=-13 w/needed=-23 w/never=-7 w/new=12 w/next=-9
w/no=66 w/nobody=18 w/not=31 w/nothing=73 w/now=-10 w/npm=24 w/number=42 w/numbers=8 w/of=24 w/off=50 w/offsets=-9
w/ok=-13 w/old=-17 w/older=21 w/on=49 w/once=-6 w/one=-27 w/only=25 w/open=46 w/or=18 w/order=-9 w/other=21
w/otherwise=6 w/our=15 w/ours=25 w/out=12 w/output=-9 w/over=36 w/own=20 w/package=29 w/page=-16 w/parser=-7
w/pass=-10 w/paste=5 w/path=-8 w/pathx=-23 w/per=56 w/pick=-8 w/plain=33 w/please=38 w/pnpm=12 w/point=-9 w/pr=-22
w/prod=26 w/project=-10 w/public=22 w/pushing=19 w/put=-21 w/python=12 w/question=8 w/quit=11 w/ran=-13 w/rather=23
w/read=24 w/red=33 w/release=-16 w/remember=18 w/remove=-15 w/repo=32 w/report=6 w/rest=9 w/return=11 w/review=-19
w/rewrite=-8 w/rule=54 w/run=25 w/runs=47 w/said=15 w/same=-27 w/say=14 w/says=-23 w/schema=21 w/scratch=10
w/screen=6 w/screens=-6 w/script=-9 w/scripts=27 w/second=34 w/section=-7 w/see=-14 w/set=7 w/settings=-7
w/shared=40 w/short=9 w/should=-28 w/show=6 w/since=-47 w/size=6 w/slow=-11 w/so=7 w/someone=-29 w/something=21
w/source=-29 w/spaces=16 w/sql=10 w/staging=13 w/start=11 w/state=27 w/stay=51 w/stays=16 w/step=-19 w/stick=24
w/stop=13 w/string=6 w/sudo=29 w/suite=6 w/sure=20 w/switched=41 w/table=-14 w/take=24 w/takes=16 w/talk=19
w/task=-12 w/tell=-5 w/ten=23 w/tenant=7 w/test=47 w/text=-12 w/texts=5 w/than=42 w/thanks=-12 w/that=-26
w/that's=-16 w/the=-46 w/their=-26 w/them=26 w/then=-19 w/there=-15 w/there's=-13 w/these=-30 w/they=-13 w/thing=56
w/think=-46 w/third=13 w/this=-71 w/those=13 w/three=-10 w/through=30 w/ticket=5 w/to=-12 w/today=12 w/touch=45
w/treat=22 w/twice=30 w/two=-43 w/ui=20 w/under=24 w/unit=22 w/until=39 w/unused=-12 w/up=27 w/update=-28 w/use=39
w/user=41 w/users=-13 w/v=-16 w/version=-39 w/versions=27 w/wants=-5 w/was=8 w/way=-17 w/we=-46 w/we're=69 w/well=8
w/were=-9 w/what=-6 w/when=-19 w/whenever=18 w/where=-31 w/whether=-15 w/which=-20 w/while=-23 w/whole=29
w/windows=-6 w/with=20 w/without=53 w/word=9 w/work=26 w/works=-36 w/would=-28 w/write=27 w/writing=14 w/yarn=31
w/year=11 w/yes=5 w/yet=-64 w/you=77 w/you're=48 w/your=-11 w/yours=38 w/yourself=20
"""
