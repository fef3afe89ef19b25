//! Several candidates with clocks of their own, requests that come late or not at all, processes that
//! are stopped, killed and started again: never two that may act at once.

use proptest::prelude::*;

use super::*;

const LEASE: Duration = Duration::from_secs(5);
/// Of the world's time.
const STEP: u64 = 20;
/// How long the world lasts before everything goes well, and how long after that somebody leads.
const TROUBLE: u64 = 60_000;
const PEACE: u64 = 30_000;

/// What goes wrong.
#[derive(Clone, Debug)]
enum Event {
    /// A process is stopped, for so long.
    Stopped(usize, u64),
    /// A process is killed; another one takes its place.
    Killed(usize),
    /// A process gives its lease back and ends; another one takes its place.
    Ends(usize),
    /// Nothing reaches the server, or comes from it, for so long.
    CutOff(usize, u64),
    /// The field of the holder is emptied by somebody.
    Emptied,
    /// Something of the lease is changed that is nobody's business.
    Touched,
}

/// How the world is made.
#[derive(Clone, Debug)]
struct Made {
    /// Of each clock: what it shows at first, and thousandths of its speed.
    clocks: Vec<(u64, u64)>,
    /// The longest way of a request, and of an answer.
    delay: u64,
    events: Vec<(u64, Event)>,
    seed: u64,
}

fn event(processes: usize) -> impl Strategy<Value = Event> {
    let who = 0..processes;
    prop_oneof![
        (who.clone(), 100..20_000_u64).prop_map(|(who, time)| Event::Stopped(who, time)),
        who.clone().prop_map(Event::Killed),
        who.clone().prop_map(Event::Ends),
        (who, 100..20_000_u64).prop_map(|(who, time)| Event::CutOff(who, time)),
        Just(Event::Emptied),
        Just(Event::Touched),
    ]
}

fn made() -> impl Strategy<Value = Made> {
    (2..=3_usize).prop_flat_map(|processes| {
        let clocks = prop::collection::vec((0..1_000_000_u64, 900..=1100_u64), processes);
        let events = prop::collection::vec((0..TROUBLE, event(processes)), 0..25);
        (clocks, 20..3_000_u64, events, any::<u64>()).prop_map(|(clocks, delay, events, seed)| {
            Made {
                clocks,
                delay,
                events,
                seed,
            }
        })
    })
}

/// A request on its way: to the server until then, and its answer back until then.
struct Sent {
    claim: Option<Claim>,
    /// By the sender's clock.
    since: Time,
    arrives: u64,
    answer: Answer,
    returns: u64,
    /// The sender does not wait for it any more.
    given_up: bool,
    owner: String,
    lost: bool,
}

/// What the server has said.
#[derive(Clone)]
enum Answer {
    /// It has not got there.
    NotYet,
    /// Nothing: it never got there.
    Never,
    /// The lease, or that the write conflicts.
    Said(Result<Option<Record>, ()>),
}

struct Process {
    clock: (u64, u64),
    election: Election,
    name: String,
    stopped_until: u64,
    cut_until: u64,
}

struct World {
    now: u64,
    made: Made,
    processes: Vec<Process>,
    wires: Vec<Sent>,
    lease: Option<Record>,
    version: u64,
    names: u64,
    seed: u64,
}

impl World {
    fn new(made: Made) -> Self {
        let mut world = Self {
            now: 0,
            processes: Vec::new(),
            wires: Vec::new(),
            lease: None,
            version: 0,
            names: 0,
            seed: made.seed | 1,
            made,
        };
        for clock in world.made.clocks.clone() {
            let process = world.process(clock);
            world.processes.push(process);
        }
        world
    }

    fn process(&mut self, clock: (u64, u64)) -> Process {
        self.names += 1;
        let name = format!("operator-{}", self.names);
        Process {
            clock,
            election: Election::new(name.clone(), Pace { lease: LEASE }),
            name,
            stopped_until: 0,
            cut_until: 0,
        }
    }

    /// Up to `most`, by a xorshift.
    fn random(&mut self, most: u64) -> u64 {
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        self.seed % (most + 1)
    }

    fn clock(&self, who: usize) -> Time {
        let (offset, speed) = self.processes[who].clock;
        Duration::from_micros(offset * 1000 + self.now * speed)
    }

    /// Who may act at this moment, stopped or not: it may wake between any two steps.
    fn acting(&self) -> Vec<&str> {
        let acts = |who: &usize| {
            let until = self.processes[*who].election.until();
            until.is_some_and(|until| self.clock(*who) < until)
        };
        let acting = (0..self.processes.len()).filter(acts);
        acting
            .map(|who| self.processes[who].name.as_str())
            .collect()
    }

    fn happen(&mut self, event: &Event) {
        match *event {
            Event::Stopped(who, time) => self.processes[who].stopped_until = self.now + time,
            Event::CutOff(who, time) => self.processes[who].cut_until = self.now + time,
            Event::Killed(who) => self.replace(who),
            Event::Ends(who) => {
                let (now, clock) = (self.now, self.clock(who));
                let process = &self.processes[who];
                let leads = process.election.until().is_some_and(|until| clock < until);
                let reaches = process.stopped_until <= now && process.cut_until <= now;
                let named = Holder::Named(process.name.clone());
                let holds = self
                    .lease
                    .as_ref()
                    .is_some_and(|lease| lease.holder == named);
                self.replace(who);
                if leads && reaches && holds {
                    self.write(Holder::Released);
                }
            }
            Event::Emptied if self.lease.is_some() => self.write(Holder::Nobody),
            Event::Touched => {
                if let Some(lease) = self.lease.clone() {
                    self.write(lease.holder);
                }
            }
            Event::Emptied => {}
        }
    }

    fn replace(&mut self, who: usize) {
        let clock = self.processes[who].clock;
        self.processes[who] = self.process(clock);
    }

    fn write(&mut self, holder: Holder) {
        self.version += 1;
        self.lease = Some(Record {
            version: self.version.to_string(),
            holder,
            lease: LEASE,
            transitions: 0,
        });
    }

    /// What the server makes of a request; `Err`: it conflicts.
    fn serve(&mut self, claim: Option<&Claim>, owner: &str) -> Result<Option<Record>, ()> {
        let Some(claim) = claim else {
            return Ok(self.lease.clone());
        };
        let there = self.lease.as_ref().map(|lease| &lease.version);
        let expected = match claim {
            Claim::Create => None,
            Claim::Over(record) => Some(&record.version),
        };
        if there != expected {
            return Err(());
        }
        self.write(Holder::Named(owner.to_owned()));
        Ok(self.lease.clone())
    }

    fn step(&mut self) {
        self.now += STEP;
        for at in 0..self.wires.len() {
            let wire = &self.wires[at];
            if matches!(wire.answer, Answer::NotYet) && wire.arrives <= self.now {
                let (claim, owner) = (wire.claim.clone(), wire.owner.clone());
                self.wires[at].answer = if wire.lost {
                    Answer::Never
                } else {
                    Answer::Said(self.serve(claim.as_ref(), &owner))
                };
            }
        }
        for who in 0..self.processes.len() {
            if self.processes[who].stopped_until <= self.now {
                self.run(who);
            }
        }
        let now = self.now;
        self.wires.retain(|wire| {
            let is_heard = wire.given_up || wire.returns <= now;
            !is_heard || matches!(wire.answer, Answer::NotYet)
        });
    }

    /// One turn of a process that is not stopped.
    fn run(&mut self, who: usize) {
        let (clock, now) = (self.clock(who), self.now);
        let name = self.processes[who].name.clone();
        let waits = self
            .wires
            .iter()
            .position(|wire| wire.owner == name && !wire.given_up);
        if let Some(at) = waits {
            let wire = &self.wires[at];
            let election = &mut self.processes[who].election;
            let answer = (wire.returns <= now).then(|| wire.answer.clone());
            let pace = Pace { lease: LEASE };
            if let Some(Answer::Said(answer)) = answer {
                match (answer, &wire.claim) {
                    (Ok(Some(record)), Some(_)) => election.wrote(wire.since, record, clock),
                    (Ok(record), _) => election.saw(record, clock),
                    (Err(()), _) => election.conflicted(clock),
                }
            } else if clock >= wire.since + pace.patience() {
                election.failed(clock);
            } else {
                return;
            }
            self.wires[at].given_up = true;
        }
        let claim = match self.processes[who].election.next(clock) {
            Step::Read => None,
            Step::Write(claim) => Some(claim),
            Step::Wait(_) => return,
            Step::Lost(_) => return self.replace(who),
        };
        let delay = self.made.delay;
        let arrives = now + self.random(delay);
        let returns = arrives + self.random(delay);
        let is_cut = self.processes[who].cut_until > now;
        let lost = is_cut && self.random(1) == 0;
        // What was on its way when the way was cut may arrive, and its answer not.
        let returns = if is_cut { u64::MAX / 2 } else { returns };
        self.wires.push(Sent {
            claim,
            since: clock,
            arrives,
            answer: Answer::NotYet,
            returns,
            given_up: false,
            owner: name,
            lost,
        });
    }
}

proptest! {
    // contract: 11.18
    #[test]
    fn never_two_at_once_and_in_the_end_one(made in made()) {
        let mut world = World::new(made);
        while world.now < TROUBLE {
            let until = world.now + STEP;
            let due: Vec<_> = world.made.events.iter()
                .filter(|(at, _)| (world.now..until).contains(at))
                .map(|(_, event)| event.clone())
                .collect();
            for event in &due {
                world.happen(event);
            }
            world.step();
            let acting = world.acting();
            prop_assert!(acting.len() <= 1, "at {}: {acting:?}", world.now);
        }
        world.made.delay = 50;
        while world.now < TROUBLE + PEACE {
            world.step();
            let acting = world.acting();
            prop_assert!(acting.len() <= 1, "at {}: {acting:?}", world.now);
        }
        let leads = world.acting().len();
        prop_assert_eq!(leads, 1, "nobody leads");
    }
}
