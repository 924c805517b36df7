"""The words of the grammar: English | German | Portuguese, grouped by semantic class.

Nouns: ``singular[/plural] | singular/plural gender | singular[/plural] gender``; the German gender
``mw`` marks the weak masculines (den jungen). Verbs: ``infinitive/past | infinitive present
participle [ist] | infinitive | subjects | objects``; ``auf+machen`` is separable, ``pick +up`` has
a particle, ``confiar +em`` takes a preposition. Adjectives: ``english | german | portuguese |
classes``.
"""

NOUNS = {
    "man": """
        man/men | mann/männer m | homem m
        father | vater/väter m | pai m
        brother | bruder/brüder m | irmão m
        uncle | onkel/onkel m | tio m
        grandfather | großvater/großväter m | avô m
        son | sohn/söhne m | filho m
        boy | junge/jungen mw | menino m
        king | könig/könige m | rei m
        teacher | lehrer/lehrer m | professor m
        doctor | arzt/ärzte m | médico m
        cook | koch/köche m | cozinheiro m
        student | student/studenten mw | aluno m
        neighbor | nachbar/nachbarn mw | vizinho m
        friend | freund/freunde m | amigo m
        baker | bäcker/bäcker m | padeiro m
        farmer | bauer/bauern mw | agricultor m
        painter | maler/maler m | pintor m
        singer | sänger/sänger m | cantor m""",
    "woman": """
        woman/women | frau/frauen f | mulher f
        mother | mutter/mütter f | mãe f
        sister | schwester/schwestern f | irmã f
        aunt | tante/tanten f | tia f
        grandmother | großmutter/großmütter f | avó f
        daughter | tochter/töchter f | filha f
        girl | mädchen/mädchen n | menina f
        queen | königin/königinnen f | rainha f
        teacher | lehrerin/lehrerinnen f | professora f
        doctor | ärztin/ärztinnen f | médica f
        cook | köchin/köchinnen f | cozinheira f
        student | studentin/studentinnen f | aluna f
        neighbor | nachbarin/nachbarinnen f | vizinha f
        friend | freundin/freundinnen f | amiga f
        baker | bäckerin/bäckerinnen f | padeira f
        farmer | bäuerin/bäuerinnen f | agricultora f
        painter | malerin/malerinnen f | pintora f
        singer | sängerin/sängerinnen f | cantora f""",
    "child": """
        child/children | kind/kinder n | criança f""",
    "animal": """
        dog | hund/hunde m | cachorro m
        cat | katze/katzen f | gato m
        horse | pferd/pferde n | cavalo m
        cow | kuh/kühe f | vaca f
        bear | bär/bären mw | urso m
        fox/foxes | fuchs/füchse m | raposa f
        wolf/wolves | wolf/wölfe m | lobo m
        lion | löwe/löwen mw | leão/leões m
        monkey | affe/affen mw | macaco m
        pig | schwein/schweine n | porco m""",
    "prey": """
        mouse/mice | maus/mäuse f | rato m
        bird | vogel/vögel m | pássaro m
        duck | ente/enten f | pato m
        rabbit | kaninchen/kaninchen n | coelho m""",
    "snake": "snake | schlange/schlangen f | cobra f",
    "ostrich": "ostrich/ostriches | strauß/strauße m | avestruz m",
    "rooster": "rooster | hahn/hähne m | galo m",
    "fruit": """
        apple | apfel/äpfel m | maçã f
        orange | orange/orangen f | laranja f
        banana | banane/bananen f | banana f
        tomato/tomatoes | tomate/tomaten f | tomate m
        carrot | karotte/karotten f | cenoura f
        potato/potatoes | kartoffel/kartoffeln f | batata f""",
    "pear": "pear | birne/birnen f | pera f",
    "cake": "cake | kuchen/kuchen m | bolo m",
    "cooked": """
        egg | ei/eier n | ovo m
        soup | suppe/suppen f | sopa f""",
    "dish": "dish/dishes | gericht/gerichte n | prato m",
    "staple": """
        bread/- | brot/- n | pão/- m
        cheese/- | käse/- m | queijo/- m
        meat/- | fleisch/- n | carne/- f
        rice/- | reis/- m | arroz/- m""",
    "drink": """
        milk/- | milch/- f | leite/- m
        water/- | wasser/- n | água/- f
        coffee/- | kaffee/- m | café/- m
        tea/- | tee/- m | chá/- m
        juice/- | saft/- m | suco/- m""",
    "text": """
        book | buch/bücher n | livro m
        letter | brief/briefe m | carta f
        newspaper | zeitung/zeitungen f | jornal/jornais m
        story/stories | geschichte/geschichten f | história f
        poem | gedicht/gedichte n | poema m""",
    "clothes": """
        coat | mantel/mäntel m | casaco m
        shirt | hemd/hemden n | camisa f
        hat | hut/hüte m | chapéu m
        shoe | schuh/schuhe m | sapato m
        dress/dresses | kleid/kleider n | vestido m
        jacket | jacke/jacken f | jaqueta f""",
    "load": """
        bag | tasche/taschen f | bolsa f
        box/boxes | kiste/kisten f | caixa f
        basket | korb/körbe m | cesta f
        suitcase | koffer/koffer m | mala f""",
    "dishes": """
        cup | tasse/tassen f | xícara f
        plate | teller/teller m | prato m
        glass/glasses | glas/gläser n | copo m
        bottle | flasche/flaschen f | garrafa f""",
    "tool": """
        spoon | löffel/löffel m | colher f
        knife/knives | messer/messer n | faca f
        fork | gabel/gabeln f | garfo m
        key | schlüssel/schlüssel m | chave f
        hammer | hammer/hämmer m | martelo m
        ball | ball/bälle m | bola f
        picture | bild/bilder n | quadro m""",
    "device": """
        lamp | lampe/lampen f | abajur m
        radio | radio/radios n | rádio m
        computer | computer/computer m | computador m""",
    "bulb": "bulb | birne/birnen f | lâmpada f",
    "car": """
        car | auto/autos n | carro m
        bus/buses | bus/busse m | ônibus/ônibus m
        taxi | taxi/taxis n | táxi m""",
    "bicycle": """
        bicycle | fahrrad/fahrräder n | bicicleta f
        motorcycle | motorrad/motorräder n | motocicleta f""",
    "opening": """
        door | tür/türen f | porta f
        window | fenster/fenster n | janela f""",
    "gate": "gate | tor/tore n | portão/portões m",
    "goal": "goal | tor/tore n | gol/gols m",
    "lock": "lock | schloss/schlösser n | fechadura f",
    "tap": "tap | hahn/hähne m | torneira f",
    "bouquet": "bouquet | strauß/sträuße m | buquê m",
    "blanket": "blanket | decke/decken f | cobertor m",
    "ceiling": "ceiling | decke/decken f | teto m",
    "furniture": """
        table | tisch/tische m | mesa f
        chair | stuhl/stühle m | cadeira f
        bed | bett/betten n | cama f
        sofa | sofa/sofas n | sofá m""",
    "bench": "bench/benches | bank/bänke f | banco m",
    "tree": """
        tree | baum/bäume m | árvore f
        wall | mauer/mauern f | muro m
        fountain | brunnen/brunnen m | fonte f""",
    "building": """
        house | haus/häuser n | casa f
        school | schule/schulen f | escola f
        church/churches | kirche/kirchen f | igreja f
        museum | museum/museen n | museu m
        hotel | hotel/hotels n | hotel/hotéis m
        restaurant | restaurant/restaurants n | restaurante m
        library/libraries | bibliothek/bibliotheken f | biblioteca f
        shop | laden/läden m | loja f""",
    "area": """
        garden | garten/gärten m | jardim m
        park | park/parks m | parque m
        forest | wald/wälder m | floresta f
        city/cities | stadt/städte f | cidade f
        village | dorf/dörfer n | vila f""",
    "room": """
        room | zimmer/zimmer n | quarto m
        kitchen | küche/küchen f | cozinha f
        office | büro/büros n | escritório m""",
    "castle": "castle | schloss/schlösser n | castelo m",
    "bank": "bank | bank/banken f | banco m",
    "court": "court | gericht/gerichte n | tribunal/tribunais m",
    "queue": "queue | schlange/schlangen f | fila f",
    "lake": "lake | see/seen m | lago m",
    "sea": "sea/- | see/- f | mar/- m",
}

NAMES = {
    "man": "peter paul tom max felix",
    "woman": "anna maria lena julia emma",
}

# Names for several classes of nouns at once, used by the verbs and adjectives below.
GROUPS = {
    "person": "man woman child speaker",
    "animate": "person animal prey",
    "food": "fruit cake cooked staple",
    "object": "tool dishes load device",
    "goods": "object clothes text",
    "wheels": "car bicycle",
    "site": "building area room",
    "fitting": "lock gate tap bench blanket",
    "edible": "fruit pear cake cooked",
    "catch": "prey snake ostrich rooster",
}

VERBS = {
    "transitive": """
        read/read | lesen liest gelesen | ler | person | text
        write/wrote | schreiben schreibt geschrieben | escrever | person | text
        eat/ate | essen isst gegessen | comer | person | food pear dish
        eat/ate | fressen frisst gefressen | comer | animal prey | fruit staple
        drink/drank | trinken trinkt getrunken | beber | person | drink
        buy/bought | kaufen kauft gekauft | comprar | person | goods food drink wheels \
            furniture blanket
        sell/sold | verkaufen verkauft verkauft | vender | person | goods wheels furniture blanket
        see/saw | sehen sieht gesehen | ver | animate | animate object building car
        hear/heard | hören hört gehört | ouvir | animate | animate device
        love/loved | lieben liebt geliebt | amar | person | man woman child animal
        know/knew | kennen kennt gekannt | conhecer | person | man woman child building area text
        look for/looked | suchen sucht gesucht | procurar | person | animate object clothes
        find/found | finden findet gefunden | achar | person | goods man woman child animal
        paint/painted | streichen streicht gestrichen | pintar | person | ceiling bench opening \
            furniture room
        wash/washed | waschen wäscht gewaschen | lavar | person | clothes dishes car blanket animal
        cook/cooked | kochen kocht gekocht | cozinhar | person | dish cooked
        clean/cleaned | putzen putzt geputzt | limpar | person | opening dishes room building
        repair/repaired | reparieren repariert repariert | consertar | person | lock tap device \
            wheels furniture bench
        visit/visited | besuchen besucht besucht | visitar | person | man woman child castle \
            building area
        meet/met | treffen trifft getroffen | encontrar | person | man woman child
        greet/greeted | grüßen grüßt gegrüßt | cumprimentar | person | man woman child
        feed/fed | füttern füttert gefüttert | alimentar | person | animal catch child
        catch/caught | fangen fängt gefangen | pegar | person animal | catch
        hunt/hunted | jagen jagt gejagt | caçar | person animal | prey animal ostrich snake
        carry/carried | tragen trägt getragen | carregar | person | load furniture dishes
        wear/wore | tragen trägt getragen | usar | person | clothes
        use/used | benutzen benutzt benutzt | usar | person | tool device dishes
        open/opened | öffnen öffnet geöffnet | abrir | person | opening gate lock tap load
        forget/forgot | vergessen vergisst vergessen | esquecer | person | goods
        lose/lost | verlieren verliert verloren | perder | person | goods blanket
        break/broke | zerbrechen zerbricht zerbrochen | quebrar | person animal | dishes
        cut/cut | schneiden schneidet geschnitten | cortar | person | fruit pear cake
        drive/drove | fahren fährt gefahren | dirigir | person | car
        ride/rode | fahren fährt gefahren | andar +em | person | bicycle
        draw/drew | zeichnen zeichnet gezeichnet | desenhar | person | castle building tree animal
        hide/hid | verstecken versteckt versteckt | esconder | person | goods blanket
        score/scored | schießen schießt geschossen | marcar | man woman child | goal
        open/opened | auf+machen macht gemacht | abrir | person | opening gate load
        close/closed | zu+machen macht gemacht | fechar | person | opening gate load tap
        turn +on/turned | an+machen macht gemacht | ligar | person | device bulb
        pick +up/picked | ab+holen holt geholt | buscar | person | man woman child load
        invite/invited | ein+laden lädt geladen | convidar | person | man woman child
        call/called | an+rufen ruft gerufen | ligar +para | person | man woman""",
    "dative": """
        help/helped | helfen hilft geholfen | ajudar | person | man woman child
        thank/thanked | danken dankt gedankt | agradecer +a | person | man woman
        follow/followed | folgen folgt gefolgt ist | seguir | animate | man woman child
        answer/answered | antworten antwortet geantwortet | responder +a | person | man woman child
        trust/trusted | vertrauen vertraut vertraut | confiar +em | person | man woman
        listen to/listened | zu+hören hört gehört | escutar | person | man woman""",
    "giving": """
        give/gave | geben gibt gegeben | dar | person | goods bouquet fruit blanket
        show/showed | zeigen zeigt gezeigt | mostrar | person | goods car
        send/sent | schicken schickt geschickt | enviar | person | text clothes bouquet
        bring/brought | bringen bringt gebracht | trazer | person | goods bouquet food blanket""",
    "intransitive": """
        sleep/slept | schlafen schläft geschlafen | dormir | animate
        laugh/laughed | lachen lacht gelacht | rir | man woman child
        cry/cried | weinen weint geweint | chorar | person
        dance/danced | tanzen tanzt getanzt | dançar | person
        sing/sang | singen singt gesungen | cantar | person
        work/worked | arbeiten arbeitet gearbeitet | trabalhar | person
        swim/swam | schwimmen schwimmt geschwommen ist | nadar | animate
        play/played | spielen spielt gespielt | brincar | animate
        crow/crowed | krähen kräht gekräht | cantar | rooster
        shine/shone | leuchten leuchtet geleuchtet | brilhar | bulb
        get up/got | auf+stehen steht gestanden ist | levantar | person
        fall asleep/fell | ein+schlafen schläft geschlafen ist | adormecer | animate
        arrive/arrived | an+kommen kommt gekommen ist | chegar | person car
        come back/came | zurück+kommen kommt gekommen ist | voltar | person animal""",
    "resting": """
        sit/sat | sitzen sitzt gesessen | estar sentado | animate
        lie/lay | liegen liegt gelegen | estar deitado | animate tool text clothes
        stand/stood | stehen steht gestanden | estar em pé | person animal load dishes \
            furniture wheels
        wait/waited | warten wartet gewartet | esperar | animate
        stay/stayed | bleiben bleibt geblieben ist | ficar | person animal
        live/lived | wohnen wohnt gewohnt | morar | person""",
    "moving": """
        go/went | gehen geht gegangen ist | ir | person
        run/ran | laufen läuft gelaufen ist | correr | animate
        come/came | kommen kommt gekommen ist | vir | person
        jump/jumped | springen springt gesprungen ist | pular | animate""",
    "reporting": """
        know/knew | wissen weiß gewusst | saber | person
        believe/believed | glauben glaubt geglaubt | acreditar | person
        hope/hoped | hoffen hofft gehofft | esperar | person
        say/said | sagen sagt gesagt | dizer | person
        think/thought | denken denkt gedacht | achar | person
        understand/understood | verstehen versteht verstanden | entender | person""",
    "asking": "ask/asked | fragen fragt gefragt | perguntar | person",
}

# eu, ele, eles: the forms that the rules of -ar, -er and -ir do not give.
PORTUGUESE_PRESENT = {
    "ler": "leio lê leem",
    "ver": "vejo vê veem",
    "ouvir": "ouço ouve ouvem",
    "perder": "perco perde perdem",
    "dormir": "durmo dorme dormem",
    "rir": "rio ri riem",
    "seguir": "sigo segue seguem",
    "dar": "dou dá dão",
    "trazer": "trago traz trazem",
    "ir": "vou vai vão",
    "vir": "venho vem vêm",
    "saber": "sei sabe sabem",
    "dizer": "digo diz dizem",
    "ser": "sou é são",
    "estar": "estou está estão",
}
# The past of a verb of state is the imperfect.
PORTUGUESE_PAST = {
    "ver": "vi viu viram",
    "dar": "dei deu deram",
    "trazer": "trouxe trouxe trouxeram",
    "ir": "fui foi foram",
    "vir": "vim veio vieram",
    "dizer": "disse disse disseram",
    "ser": "era era eram",
    "estar": "estava estava estavam",
    "saber": "sabia sabia sabiam",
    "conhecer": "conhecia conhecia conheciam",
    "amar": "amava amava amavam",
    "morar": "morava morava moravam",
}

# english[/comparative] | german[/comparative] | portuguese[/feminine] | classes
ADJECTIVES = """
    big/bigger | groß/größer | grande | animal goods furniture car site tree
    small/smaller | klein/kleiner | pequeno | animate goods furniture car site tree edible bulb
    old/older | alt/älter | velho | animate goods furniture wheels site tree castle bench lock \
        gate tap blanket
    young/younger | jung/jünger | jovem | animate snake ostrich rooster
    new | neu | novo | goods furniture wheels building opening gate lock tap bench blanket bulb
    beautiful/- | schön/schöner | bonito | woman animal clothes text dishes building area \
        castle bouquet
    tired | müde | cansado | animate
    happy | glücklich | feliz | person
    sad | traurig | triste | person text
    friendly | freundlich | simpático | person
    clever/cleverer | klug/klüger | inteligente | person animal
    strong/stronger | stark/stärker | forte | person animal
    hungry | hungrig | faminto | animate snake ostrich rooster
    sick | krank | doente | animate
    rich/richer | reich/reicher | rico | person
    poor/poorer | arm/ärmer | pobre | person
    famous | berühmt | famoso | man woman text building castle
    red | rot | vermelho | clothes load dishes wheels furniture opening fruit
    blue | blau | azul | clothes load dishes wheels furniture opening
    green | grün | verde | clothes load dishes wheels furniture opening bench gate
    black | schwarz | preto | animal clothes load wheels
    white | weiß | branco | animal prey clothes load dishes opening ceiling
    heavy/heavier | schwer/schwerer | pesado | load tool device furniture
    light/lighter | leicht/leichter | leve | load clothes tool
    expensive/- | teuer/teurer | caro | goods furniture wheels drink staple
    cheap/cheaper | billig/billiger | barato | goods furniture wheels drink staple
    dirty/dirtier | schmutzig/schmutziger | sujo | clothes dishes tool opening room car blanket
    broken | kaputt | quebrado | dishes device wheels furniture opening lock tap bulb
    cold/colder | kalt/kälter | frio | cake cooked drink staple room
    warm/warmer | warm/wärmer | quente | cake cooked drink clothes room blanket
    fresh | frisch | fresco | edible staple drink
    long/longer | lang/länger | longo | text clothes queue
    short/shorter | kurz/kürzer | curto | text clothes queue
    interesting/- | interessant/interessanter | interessante | text area building
    good/better | gut/besser | bom/boa | text food drink tool device dish goal
    quiet | ruhig | tranquilo | person area room building animal
"""

# key | english | german | portuguese; the k-th words translate each other, "_" joins one group.
TIMES = """
    present | now | jetzt | agora
    any | today | heute | hoje
    past | yesterday | gestern | ontem
    modal | tomorrow | morgen | amanhã
    any | in_the evening | am abend | à noite
    any | in_the morning | am vormittag | de manhã
    any | on monday | am montag | na segunda
    any | on sunday | am sonntag | no domingo
    any | every day | jeden tag | todo dia
    any | in summer | im sommer | no verão
    any | in winter | im winter | no inverno
"""
FREQUENCIES = """
    often | oft | frequentemente
    always | immer | sempre
    never | nie | nunca
    sometimes | manchmal | às_vezes
    rarely | selten | raramente
"""
MANNERS = """
    quickly | schnell | rapidamente
    slowly | langsam | lentamente
    quietly | leise | silenciosamente
    carefully | vorsichtig | cuidadosamente
    alone | allein | sozinho
"""
HERE = """
    here | hier | aqui
    there | dort | ali
    at_home | zu_hause | em_casa
    outside | draußen | lá_fora
    upstairs | oben | lá_em_cima
"""

# english | german | case | portuguese | classes of the location
LOCATIVES = """
    in | in | dative | em | site castle court bank
    next to | neben | dative | ao_lado_de | building tree furniture car opening
    behind | hinter | dative | atrás_de | building tree furniture car opening
    in front of | vor | dative | na_frente_de | building tree furniture car
    on | auf | dative | em | furniture bench
    under | unter | dative | debaixo_de | furniture tree car
    at | an | dative | em | lake sea opening
"""
INTO = "into | in | accusative | para | site castle bank"
QUEUE = "in | in | dative | em | queue"
TO = "to | zu | dative | até | building man woman"
WITH = "with | mit | dative | com | man woman child animal"
WITHOUT = "without | ohne | accusative | sem | man woman child animal"

MODALS = """
    can | können kann | consigo consegue conseguem
    want to | wollen will | quero quer querem
    have to | müssen muss | tenho_que tem_que têm_que
    should | sollen soll | deveria deveria deveriam
    may | dürfen darf | posso pode podem
"""

# english | german | portuguese | word order in German | tense both clauses share
LINKS = """
    because | weil | porque | final | any
    because | denn | pois | main | any
    although | obwohl | embora | final | any
    when | wenn | quando | final | present
    when | als | quando | final | past
    while | während | enquanto | final | same
    before | bevor | antes_que | final | same
    but | aber | mas | main | any
    and | und | e | main | any
    so | deshalb | por_isso | inverted | any
"""
THAT = "that | dass | que | final | any"
WHETHER = "whether | ob | se | final | any"

# English verbs for actions, which one can do quickly, somewhere, with somebody.
DOING = """
    read write eat drink paint wash cook clean repair cut draw play sing dance work swim run go come
"""
# "My king" and "his wolf" would be odd, and "mein mann" is a husband.
UNOWNED = "man woman boy girl king queen bear fox wolf lion monkey mouse bird"
# Where one can sit, lie and live. One can stand, wait and stay anywhere.
RESTING = {
    "sit": "furniture bench tree lake sea area",
    "lie": "furniture room",
    "live": "building area castle lake sea",
}
# Where one can do one of the actions.
DOING_LOCATIONS = "site castle bank court lake sea"
ANYWHERE = "site castle court bank bench tree furniture lake sea"
