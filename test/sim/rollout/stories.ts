// What people do and what befalls machines while versions roll, as phases; all that is left to chance comes from the seed of the run.
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { type MachineComponentSet, machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { componentObjectName } from '#lib/names.ts'
import { machineComponent } from '#api/kinds/machine-component.ts'
import { componentCanary } from '#api/kinds/component-canary.ts'
import { type Random, seededRandom } from '#lib/random.ts'
import { BAD, POOL } from '#test/support/fleets/rollout-fleet.ts'
import {
  type Agents,
  SET,
  type Stage,
  type Start,
  canary,
  declare,
  definition,
  hold,
  limitTo,
  nameOf,
  nodeReady,
  select,
  unhold,
  zoneOf,
} from './fleet.ts'
import { BootedSlots, imageOf } from './booted-slots.ts'
import { type BootLoaders, Kernels, kernelOf } from './kernels.ts'
import type { Weather } from './reboots.ts'

/** How a fleet is created: at once in the simulator, by requests elsewhere. */
export interface Ground {
  readonly plantFleet: (agents: Agents, start?: Start) => void
  readonly plantMachine: (agents: Agents, i: number, version: string) => void
}

interface Act {
  readonly name: string
  readonly act: (stage: Stage, ground: Ground) => void
  readonly counts?: 'AtMost'
}

export interface Story {
  readonly name: string
  readonly phases: (agents: () => Agents) => readonly Act[]
  /** Good versions fail too: where a machine hangs, nothing else can be concluded. */
  readonly mayBlame?: true
  /** How long a phase may take to settle; absent: as all others. */
  readonly settleMs?: number
  /** Why it cannot be replayed with hollow agents in real processes. */
  readonly simulatedOnly?: string
}

/** The faults of a phase last so long; whatever a story does to machines is healed soon after. */
const SOON_MS = 12_000

/** Another stream than the schedule's, so that a story does not change with the number of steps. */
const diceOf = ({ seed }: Stage, salt: number): Random => seededRandom(seed * 7_001 + salt)

const some = (random: Random, count: number, below: number): readonly string[] =>
  Array.from(new Set(Array.from({ length: count }, () => nameOf(random.below(below)))))

const those = ({ scale }: Agents, numbers: readonly number[]): readonly string[] =>
  numbers.filter((i) => i < scale.machines).map(nameOf)

/** Nodes fail and come back, agents fall silent, are slow, or die: none of it is the fault of a version. */
function trouble(world: Stage, agents: Agents, salt: number): void {
  const random = diceOf(world, salt)
  const { clock } = world
  const { machines, some: behind } = agents.scale
  const at = () => random.below(SOON_MS)
  for (const name of some(random, 3, machines)) {
    clock.after(at(), () => exists(world, name) && nodeReady(world, name, false))
    clock.after(SOON_MS + at(), () => exists(world, name) && nodeReady(world, name, true))
  }
  for (const name of some(random, 2, machines)) clock.after(at(), () => agents.silence([name]))
  clock.after(4 * SOON_MS, () => agents.hearAll())
  for (const name of some(random, 5, machines)) agents.slow.add(name)
  for (const name of some(random, 4, behind)) clock.after(at(), () => void agents.fleet?.node(name)?.crash())
  // One that crashes right after its switch goes back, and rightly counts as a failure: these crash at rest.
  for (const name of some(random, 4, machines))
    clock.after(at(), () => isAtRest(agents, name) && agents.fleet?.node(name)?.crashComponent('beacon'))
}

const isAtRest = (agents: Agents, name: string): boolean =>
  agents.fleet
    ?.node(name)
    ?.records()
    .every((r) => r.state === 'Healthy') === true

const exists = ({ fake }: Stage, name: string): boolean => {
  const m = fake.peek(machineType, { name }) as Machine | undefined
  return m !== undefined && m.metadata.deletionTimestamp === undefined
}

const goodBump: Story = {
  name: 'good bump',
  phases: (agents) => [
    {
      name: 'bump',
      act: (w, g) => {
        g.plantFleet(agents(), { declared: '1.1.0', outdated: agents().scale.some })
        trouble(w, agents(), 1)
      },
    },
  ],
}

const badVersion: Story = {
  name: 'bad version',
  phases: (agents) => [
    { name: 'begin', act: (w, g) => g.plantFleet(agents(), { declared: '1.1.0' }) },
    {
      name: 'break',
      act: (w) => {
        declare(w, BAD)
        trouble(w, agents(), 2)
      },
    },
    { name: 'revert', act: (w) => declare(w, '1.1.0') },
  ],
}

const revert: Story = {
  name: 'revert in mid-rollout',
  phases: (agents) => [
    { name: 'begin', act: (w, g) => g.plantFleet(agents()) },
    {
      name: 'bump and revert',
      counts: 'AtMost',
      act: (w) => {
        declare(w, '1.1.0')
        w.clock.after(1_000 + diceOf(w, 3).below(SOON_MS), () => declare(w, '1.0.0'))
        trouble(w, agents(), 3)
      },
    },
  ],
}

const secondThoughts: Story = {
  name: 'second thoughts',
  phases: (agents) => [
    { name: 'begin', act: (w, g) => g.plantFleet(agents(), { declared: '1.1.0' }) },
    {
      name: 'three edits',
      counts: 'AtMost',
      act: (w) => {
        const random = diceOf(w, 4)
        declare(w, '1.2.0')
        w.clock.after(500 + random.below(3_000), () => declare(w, BAD))
        w.clock.after(6_000 + random.below(3_000), () => declare(w, '1.1.0'))
        trouble(w, agents(), 4)
      },
    },
  ],
}

const partition: Story = {
  name: 'zone partition',
  phases: (agents) => [
    {
      name: 'partition',
      act: (w, g) => {
        g.plantFleet(agents(), { declared: '1.1.0', outdated: agents().scale.some })
        const zone = Array.from({ length: agents().scale.machines }, (_, i) => i).filter((i) => zoneOf(i) === 'z-1')
        w.clock.after(1_000 + diceOf(w, 5).below(SOON_MS), () => agents().silence(zone.map(nameOf)))
        w.clock.after(100_000, () => agents().hearAll())
      },
    },
  ],
}

const LADDER_STEPS = 4
const LOOK_MS = 100

/** As soon as a slice of the step is running; at the latest after `latestMs`, where that cannot be observed. */
function atStep(stage: Stage, step: number, latestMs: number, act: () => void): void {
  const until = stage.clock.now() + latestMs
  const look = () => {
    const set = stage.fake.peek(machineComponentSet, { name: SET }) as MachineComponentSet | undefined
    const isThere = set?.status?.slices?.some((w) => w.step === step && AT_WORK.has(w.phase)) === true
    if (isThere || stage.clock.now() >= until) act()
    else stage.clock.after(LOOK_MS, look)
  }
  look()
}

const AT_WORK: ReadonlySet<string> = new Set(['AwaitingPermit', 'Switching', 'Soaking'])

const pause: Story = {
  name: 'pause and resume',
  phases: (agents) => [
    {
      name: 'bump, pause, resume',
      act: (w, g) => {
        g.plantFleet(agents(), { declared: '1.1.0', outdated: agents().scale.some })
        const random = diceOf(w, 6)
        const pauseFor = (n: number, ms: number) => {
          hold(w, `pause-${n}`, 'Pause', 600_000)
          w.clock.after(ms, () => unhold(w, `pause-${n}`))
        }
        // A moment after the step began, so that it is met in each of its phases.
        const afterMs = random.below(2_000)
        atStep(w, random.below(LADDER_STEPS), SOON_MS, () => void w.clock.after(afterMs, () => pauseFor(0, 20_000)))
        w.clock.after(40_000 + random.below(SOON_MS), () => pauseFor(1, 20_000))
        trouble(w, agents(), 6)
      },
    },
  ],
}

/** This many machines belong to no set at first. */
const STRANGERS = 10

const selector: Story = {
  name: 'selector that moves',
  phases: (agents) => [
    {
      name: 'bump, select none, all, and more',
      counts: 'AtMost',
      act: (w, g) => {
        const { machines, some: outdated } = agents().scale
        const own = machines > STRANGERS ? machines - STRANGERS : machines
        g.plantFleet(agents(), { declared: '1.1.0', outdated, members: own })
        const at = 1_000 + diceOf(w, 9).below(SOON_MS)
        w.clock.after(at, () => select(w, ['nobodys']))
        w.clock.after(at + 15_000, () => select(w, ['workers']))
        w.clock.after(at + 20_000, () => select(w, ['workers', 'others']))
        trouble(w, agents(), 9)
      },
    },
  ],
}

const members: Story = {
  name: 'members come and go',
  phases: (agents) => [
    {
      name: 'bump, join, leave, relabel',
      counts: 'AtMost',
      act: (w, g) => {
        g.plantFleet(agents(), { declared: '1.1.0', outdated: agents().scale.some })
        const random = diceOf(w, 7)
        const at = () => random.below(SOON_MS)
        for (let i = 0; i < 3; i++)
          w.clock.after(at(), () => g.plantMachine(agents(), agents().scale.machines + i, '1.0.0'))
        // Always the same ones, so that the remaining machines are the same.
        for (const name of those(agents(), [3, 30, 100]))
          w.clock.after(at(), () => w.fake.uproot(machineType, { name }))
        for (const name of those(agents(), [5, 21, 120])) {
          const label = (labels: object) =>
            exists(w, name) && w.fake.poke(machineType, { name }, { metadata: { labels } })
          w.clock.after(at(), () => label({ 'kubenode.io/pool': null }))
          w.clock.after(30_000 + at(), () => label(POOL))
        }
      },
    },
  ],
}

const liars: Story = {
  name: 'agents that lie',
  phases: (agents) => [
    {
      name: 'bump',
      act: (w, g) => {
        g.plantFleet(agents(), { declared: '1.1.0', outdated: agents().scale.some })
        for (const name of some(diceOf(w, 8), 3, agents().scale.some)) agents().liars.add(name)
        w.clock.after(60_000, () => agents().honest())
        trouble(w, agents(), 8)
      },
    },
  ],
}

const BROKEN = [2, 11, 23, 42, 55]

const broken: Story = {
  name: 'broken machines',
  phases: (agents) => [
    {
      name: 'bump around them',
      act: (w, g) => {
        g.plantFleet(agents(), { declared: '1.1.0', outdated: agents().scale.some })
        for (const name of those(agents(), BROKEN)) nodeReady(w, name, false)
      },
    },
    { name: 'they heal', act: (w) => those(agents(), BROKEN).forEach((name) => nodeReady(w, name, true)) },
  ],
}

const CANARIES = [1, 3, 4].map(nameOf)

const canaryAborted: Story = {
  name: 'canary that fails',
  phases: (agents) => [
    { name: 'begin', act: (w, g) => g.plantFleet(agents(), { declared: '1.1.0' }) },
    { name: 'try', act: (w) => canary(w, BAD, CANARIES) },
    {
      name: 'abort',
      act: (w) => void w.fake.poke(componentCanary, { name: 'trial' }, { spec: { abort: true } }),
    },
  ],
}

const canaryPromoted: Story = {
  name: 'canary that is promoted',
  phases: (agents) => [
    { name: 'begin', act: (w, g) => g.plantFleet(agents(), { members: agents().scale.some }) },
    { name: 'try', act: (w) => canary(w, '1.1.0', CANARIES) },
    { name: 'promote', act: (w) => declare(w, '1.1.0') },
  ],
}

const SETTLE_LOOK_MS = 200
const KILLED = { how: 'ended by SIGKILL', isEvidence: false }
const UNSEEN = { how: 'ended while the agent was not running', isEvidence: false }
/** Longer than it takes until an agent counts as silent. */
const AWAY_MS = 50_000

/** Each machine meets one end that says nothing about the version, or one silence, in each of its settle windows. */
function meddle(world: Stage, agents: Agents, salt: number): void {
  const random = diceOf(world, salt)
  const met = new Set<string>()
  const end = (name: string): void => {
    const node = agents.fleet?.node(name)
    const dice = random.below(4)
    if (dice === 0 && agents.silent.size === 0) {
      agents.silence([name])
      world.clock.after(AWAY_MS, () => agents.hearAll())
    } else if (dice === 1) void node?.crash().then(() => node.crashComponent('beacon', UNSEEN))
    else node?.crashComponent('beacon', KILLED)
  }
  const look = (): void => {
    const set = world.fake.peek(machineComponentSet, { name: SET }) as MachineComponentSet | undefined
    for (const name of (set?.status?.slices ?? []).flatMap((w) => (w.phase === 'Switching' ? w.machines : []))) {
      const record = agents.fleet?.node(name)?.records()[0]
      const window = `${name} ${record?.target.attempt}`
      if (record?.state !== 'Probing' || met.has(window)) continue
      met.add(window)
      end(name)
    }
    world.clock.after(SETTLE_LOOK_MS, look)
  }
  look()
}

const meddled: Story = {
  name: 'one end in every settle window',
  simulatedOnly: 'hollow agents have no processes that could end; test/e2e/settle-window kills real ones',
  phases: (agents) => [
    { name: 'begin', act: (w, g) => g.plantFleet(agents(), { declared: '1.1.0', members: agents().scale.some }) },
    {
      name: 'forward',
      act: (w) => {
        declare(w, '1.2.0')
        meddle(w, agents(), 10)
      },
    },
    { name: 'back', act: (w) => declare(w, '1.1.0') },
    { name: 'forward again', act: (w) => declare(w, '1.2.0') },
  ],
}

/** So few that one after the other is soon over. */
const FEW = 8

const firstInstall: Story = {
  name: 'a first install that fails',
  simulatedOnly: 'hollow agents fail no first install; test/e2e/first-week does it with a real component',
  phases: (agents) => [
    {
      name: 'begin',
      act: (w, g) => {
        g.plantFleet(agents(), { declared: '1.1.0', members: Math.min(FEW, agents().scale.machines) })
        limitTo(w, 1)
      },
    },
    { name: 'a first version that is bad', act: (w) => declare(w, '1.1.0', BAD) },
    { name: 'fixed forward', act: (w) => declare(w, '1.1.0', '1.0.0') },
    { name: 'a version that is bad', act: (w) => declare(w, '1.1.0', BAD) },
    { name: 'taken out', act: (w) => declare(w, '1.1.0') },
  ],
}

/** The versions of a kernel: nothing that a restart of a process would bring into force. */
export const rebooted: Story = {
  name: 'a version that reboots its machines',
  simulatedOnly: 'the hosts of the replay are not restarted; test/integration/agent-reboot does it with a real agent',
  phases: (agents) => [
    {
      name: 'begin',
      act: (w, g) => {
        g.plantFleet(agents(), { declared: '1.1.0', members: Math.min(FEW, agents().scale.machines) })
        for (const version of ['1.2.0', BAD])
          w.fake.poke(
            machineComponent,
            { name: componentObjectName('beacon', version) },
            { spec: { disruption: 'Reboot' } },
          )
      },
    },
    { name: 'forward', act: (w) => declare(w, '1.2.0') },
    {
      name: 'a bad one',
      act: (w) => {
        // Otherwise the invariants of reboots prove nothing.
        if (agents().reboots.count === 0) throw new Error('no machine has rebooted')
        declare(w, BAD)
      },
    },
    { name: 'reverted', act: (w) => declare(w, '1.2.0') },
  ],
}

/** As above, with hosts that hang and a provider that lies. How a rollout ends depends on the weather; what must hold does not. */
export const hanging = (weather: (stage: Stage) => Weather): Story => ({
  name: 'machines that hang and a provider that lies',
  simulatedOnly: 'the hosts of the replay are not restarted',
  mayBlame: true,
  settleMs: 8 * 3_600_000,
  phases: (agents) => [
    {
      name: 'begin',
      act: (w, g) => {
        g.plantFleet(agents(), { declared: '1.1.0', members: Math.min(FEW, agents().scale.machines) })
        agents().reboots.showOn((machine, isReady) => nodeReady(w, machine, isReady))
        agents().reboots.weather = weather(w)
        w.fake.plant(machineComponent, definition('1.3.0'))
        for (const version of ['1.2.0', '1.3.0', BAD])
          w.fake.poke(
            machineComponent,
            { name: componentObjectName('beacon', version) },
            { spec: { disruption: 'Reboot' } },
          )
      },
    },
    { name: 'forward', act: (w) => declare(w, '1.2.0') },
    { name: 'further', act: (w) => declare(w, '1.3.0') },
    { name: 'a bad one', act: (w) => declare(w, BAD) },
    { name: 'back', act: (w) => declare(w, '1.1.0') },
  ],
})

/** What machines boot, and a driver that is declared with it: both take effect with one reboot. */
const booting = (
  { phases, ...story }: Story,
  bootLoaders: (agents: Agents) => BootLoaders,
  os: (version: string) => Readonly<Record<string, unknown>>,
): Story => ({
  ...story,
  phases: (agents) => [
    {
      name: 'begin',
      act: (w, g) => {
        phases(agents)[0]?.act(w, g)
        agents().kernels = bootLoaders(agents())
        for (const version of ['1.1.0', '1.2.0', '1.3.0', BAD]) {
          const spec = { type: 'OS', disruption: 'Reboot', os: os(version), install: null, service: null }
          w.fake.poke(machineComponent, { name: componentObjectName('beacon', version) }, { spec })
        }
        w.fake.plant(machineComponent, definition('1.3.0', 'scribe'))
        for (const version of ['1.1.0', '1.2.0', '1.3.0'])
          w.fake.poke(
            machineComponent,
            { name: componentObjectName('scribe', version) },
            { spec: { disruption: 'Reboot' } },
          )
      },
    },
    { name: 'with a driver', act: (w) => declare(w, '1.1.0', '1.0.0') },
    { name: 'forward', act: (w) => declare(w, '1.2.0', '1.1.0') },
    { name: 'further', act: (w) => declare(w, '1.3.0', '1.2.0') },
    { name: 'a bad kernel', act: (w) => declare(w, BAD, '1.3.0') },
    { name: 'back', act: (w) => declare(w, '1.1.0', '1.0.0') },
  ],
})

export const kernels = (weather: (stage: Stage) => Weather): Story => ({
  ...booting(
    hanging(weather),
    ({
      reboots: {
        weather: { armsForGood },
      },
    }) => new Kernels({ component: 'beacon', first: '1.1.0', armsForGood }),
    (version) => ({ kernel: kernelOf(version) }),
  ),
  name: 'kernels and drivers on machines that hang',
})

export const images = (weather: (stage: Stage) => Weather): Story => ({
  ...booting(
    hanging(weather),
    ({
      reboots: {
        weather: { armsForGood },
      },
    }) => new BootedSlots({ component: 'beacon', first: '1.1.0', versions: ['1.2.0', '1.3.0', BAD], armsForGood }),
    imageOf,
  ),
  name: 'images of bootc and drivers on machines that hang',
})

export const stories: readonly Story[] = [
  goodBump,
  badVersion,
  revert,
  secondThoughts,
  partition,
  pause,
  members,
  selector,
  liars,
  broken,
  canaryAborted,
  canaryPromoted,
  meddled,
  firstInstall,
]

export function storyNamed(name: string): Story {
  const found = stories.find((s) => s.name === name)
  if (found === undefined) throw new Error(`no story ${name}`)
  return found
}
