"""The words of the renderings, in every language, in one place.

Names of combinations and of what is counted stay Italian where those who play in that language say them so.
"""

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final


@dataclasses.dataclass(frozen=True, kw_only=True)
class Words:
    """All words of one language. A missing one is an error at import; placeholders are the same in every language."""

    # games
    tressette_2p: str
    tressette_4p: str
    bazzica: str
    # where the deal stands
    deal: str
    hand: str
    trick_number: str
    hands_left: str
    ultima_mano: str
    dealer: str
    opener: str
    deck_left: str
    turn: str
    winner: str
    nobody: str
    target: str
    single_deal: str
    with_napoletana: str
    low_sum_max: str
    last_card_scopa: str
    # sides
    score: str
    match_points: str
    matches: str
    cards_taken: str
    points_taken: str
    scope: str
    declared: str
    # cards
    hands: str
    you: str
    hidden: str
    shown: str
    table: str
    trick: str
    leads: str
    winning: str
    none: str
    pending: str
    choose: str
    taken: str
    deck_order: str
    napoletane: str
    # the score sheet
    sheet: str
    carte: str
    denari: str
    settebello: str
    primiera: str
    declarations: str
    tricks: str
    last_trick: str
    total: str
    # the register: {name} is the seat's name
    register: str
    event_deal: str
    event_deal_table: str
    event_lead: str
    event_follow: str
    event_trick: str
    event_draw: str
    event_napoletana: str
    event_play: str
    event_play_pending: str
    event_play_capture: str
    event_scopa: str
    event_declare: str
    event_baptise: str
    event_sweep: str
    event_count: str
    # key to the cards
    key_suits: str
    key_ranks: str
    key_values: str
    key_baptised: str
    key_declared: str
    # between a label and what it says
    colon: str


BADGES: Final[Mapping[str, str]] = MappingProxyType(
    {"pariglia": "P", "meno_di_nove": "9", "pariglia_meno_di_nove": "P9", "bazzicotto": "B"}
)

_ENGLISH: Final = Words(
    tressette_2p="Tressette for two",
    tressette_4p="Tressette for four",
    bazzica="Scopa-bazzica",
    deal="deal {number}",
    hand="hand {number} of {total}",
    trick_number="trick {number} of {total}",
    hands_left="hands left in the deal",
    ultima_mano="ultima mano (last hand)",
    dealer="dealer",
    opener="opener",
    deck_left="cards left in the deck",
    turn="to move",
    winner="winner",
    nobody="nobody",
    target="match to {number} points",
    single_deal="a single deal",
    with_napoletana="with napoletana",
    low_sum_max="meno di nove: at most",
    last_card_scopa="the last card may make a scopa",
    score="Score",
    match_points="score",
    matches="matches won",
    cards_taken="cards taken",
    points_taken="points taken",
    scope="scope",
    declared="declared",
    hands="Hands",
    you="you",
    hidden="hidden: {number}",
    shown="known to all: {cards}",
    table="Table",
    trick="Trick",
    leads="leads",
    winning="winning",
    none="none",
    pending="{name} has played {card} and chooses what to take:",
    choose="or",
    taken="Taken",
    deck_order="Deck, next card first",
    napoletane="Napoletane",
    sheet="Count of deal {number}",
    carte="carte",
    denari="denari",
    settebello="settebello",
    primiera="primiera",
    declarations="declarations",
    tricks="points in tricks",
    last_trick="last trick",
    total="total",
    register="Register",
    event_deal="{name} deals",
    event_deal_table="{name} deals, on the table {cards}",
    event_lead="{name} leads {card}",
    event_follow="{name} plays {card}",
    event_trick="{name} wins {cards}",
    event_draw="{name} draws {card}",
    event_napoletana="{name} has the napoletana di {suit}: {cards}, +{points}",
    event_play="{name} plays {card}",
    event_play_pending="{name} plays {card} and chooses",
    event_play_capture="{name} plays {card}, takes {cards}",
    event_scopa="{name} makes a scopa, +{points}",
    event_declare="{name} declares {declaration}, +{points}",
    event_baptise="{name} baptises {card} as {value}",
    event_sweep="{name} takes the rest: {cards}",
    event_count="count: {points}",
    key_suits="d denari (coins), c coppe (cups), s spade (swords), b bastoni (clubs)",
    key_ranks="A asso (ace), F fante (knave), C cavallo (knight), R re (king)",
    key_values="values: A 1, F 8, C 9, R 10",
    key_baptised="{card}: baptised, counts as {value}",
    key_declared="{badge} {declaration}: {points}",
    colon=": ",
)

_ITALIAN: Final = Words(
    tressette_2p="Tressette in due",
    tressette_4p="Tressette in quattro",
    bazzica="Scopa-bazzica",
    deal="smazzata {number}",
    hand="mano {number} di {total}",
    trick_number="presa {number} di {total}",
    hands_left="mani rimaste nella smazzata",
    ultima_mano="ultima mano",
    dealer="mazziere",
    opener="di mano",
    deck_left="carte nel mazzo",
    turn="tocca a",
    winner="vince",
    nobody="nessuno",
    target="partita ai {number} punti",
    single_deal="una sola smazzata",
    with_napoletana="con napoletana",
    low_sum_max="meno di nove: al massimo",
    last_card_scopa="l'ultima carta può fare scopa",
    score="Punteggio",
    match_points="punti",
    matches="partite vinte",
    cards_taken="carte prese",
    points_taken="punti presi",
    scope="scope",
    declared="dichiarato",
    hands="Carte in mano",
    you="tu",
    hidden="coperte: {number}",
    shown="note a tutti: {cards}",
    table="In tavola",
    trick="Presa",
    leads="esce",
    winning="comanda",
    none="niente",
    pending="{name} ha giocato {card} e sceglie la presa:",
    choose="oppure",
    taken="Carte prese",
    deck_order="Mazzo, dalla prossima carta",
    napoletane="Napoletane",
    sheet="Conto della smazzata {number}",
    carte="carte",
    denari="denari",
    settebello="settebello",
    primiera="primiera",
    declarations="dichiarazioni",
    tricks="punti nelle prese",
    last_trick="ultima presa",
    total="totale",
    register="Registro",
    event_deal="{name} dà le carte",
    event_deal_table="{name} dà le carte, in tavola {cards}",
    event_lead="{name} esce con {card}",
    event_follow="{name} gioca {card}",
    event_trick="{name} prende {cards}",
    event_draw="{name} pesca {card}",
    event_napoletana="{name} accusa napoletana di {suit}: {cards}, +{points}",
    event_play="{name} gioca {card}",
    event_play_pending="{name} gioca {card} e sceglie",
    event_play_capture="{name} gioca {card}, prende {cards}",
    event_scopa="{name} fa scopa, +{points}",
    event_declare="{name} dichiara {declaration}, +{points}",
    event_baptise="{name} battezza {card}: vale {value}",
    event_sweep="a {name} il resto: {cards}",
    event_count="conto: {points}",
    key_suits="d denari, c coppe, s spade, b bastoni",
    key_ranks="A asso, F fante, C cavallo, R re",
    key_values="valori: A 1, F 8, C 9, R 10",
    key_baptised="{card}: battezzato, vale {value}",
    key_declared="{badge} {declaration}: {points}",
    colon=": ",
)

_FRENCH: Final = Words(
    tressette_2p="Tressette à deux",
    tressette_4p="Tressette à quatre",
    bazzica="Scopa-bazzica",
    deal="donne {number}",
    hand="main {number} sur {total}",
    trick_number="pli {number} sur {total}",
    hands_left="mains restantes dans la donne",
    ultima_mano="ultima mano (dernière main)",
    dealer="donneur",
    opener="entame",
    deck_left="cartes au talon",
    turn="à jouer",
    winner="vainqueur",
    nobody="personne",
    target="partie en {number} points",
    single_deal="une seule donne",
    with_napoletana="avec napoletana",
    low_sum_max="meno di nove : au plus",
    last_card_scopa="la dernière carte peut faire scopa",
    score="Marque",
    match_points="points",
    matches="parties gagnées",
    cards_taken="cartes prises",
    points_taken="points pris",
    scope="scope",
    declared="déclaré",
    hands="Cartes en main",
    you="vous",
    hidden="cachées : {number}",
    shown="connues de tous : {cards}",
    table="Tapis",
    trick="Pli",
    leads="entame",
    winning="maître",
    none="rien",
    pending="{name} a joué {card} et choisit sa prise :",
    choose="ou",
    taken="Cartes prises",
    deck_order="Talon, dans l'ordre de pioche",
    napoletane="Napoletane",
    sheet="Décompte de la donne {number}",
    carte="cartes",
    denari="deniers",
    settebello="settebello",
    primiera="primiera",
    declarations="déclarations",
    tricks="points dans les plis",
    last_trick="dernier pli",
    total="total",
    register="Registre",
    event_deal="{name} donne",
    event_deal_table="{name} donne, sur le tapis {cards}",
    event_lead="{name} entame {card}",
    event_follow="{name} joue {card}",
    event_trick="{name} remporte {cards}",
    event_draw="{name} pioche {card}",
    event_napoletana="{name} annonce napoletana di {suit} : {cards}, +{points}",
    event_play="{name} joue {card}",
    event_play_pending="{name} joue {card} et choisit",
    event_play_capture="{name} joue {card}, prend {cards}",
    event_scopa="{name} fait scopa, +{points}",
    event_declare="{name} déclare {declaration}, +{points}",
    event_baptise="{name} baptise {card} : vaut {value}",
    event_sweep="{name} ramasse le reste : {cards}",
    event_count="décompte : {points}",
    key_suits="d denari (deniers), c coppe (coupes), s spade (épées), b bastoni (bâtons)",
    key_ranks="A asso (as), F fante (valet), C cavallo (cavalier), R re (roi)",
    key_values="valeurs : A 1, F 8, C 9, R 10",
    key_baptised="{card} : baptisé, vaut {value}",
    key_declared="{badge} {declaration} : {points}",
    colon=" : ",
)

LANGUAGES: Final[Mapping[str, Words]] = MappingProxyType({"it": _ITALIAN, "en": _ENGLISH, "fr": _FRENCH})
