// How long new versions of 12 components take to reach 10,000 machines, each step watched for ten minutes, while machines die of other causes. The planner is the
// real one, on a clock that jumps; machines are simple: they fetch, switch and probe for as long as real ones do, and a Defender grants what it is asked.
import type { Machine } from '#api/kinds/machine.ts'
import { seededRandom } from '#lib/random.ts'
import { timestamp } from '#lib/clock.ts'
import { component, componentSet, silenced, workingMachine } from '#test/support/fleets/rollout-fleet.ts'
import { RolloutModel } from '#test/support/fleets/rollout-model.ts'
import { rounded } from './result.ts'
import type { BenchOptions, BenchResult, Figures } from './result.ts'

const MACHINES = 10_000
const COMPONENTS = 12
/** So many of these empty the node first, which takes minutes. */
const DRAINED = 2
const STEPS = ['1%', '5%', '10%', '25%', '50%', '100%'] as const
const SOAK = '10m'
/** Machines that die, of all, in a day. */
const DEATHS_A_DAY = 0.002
/** The set is reconciled at most this often; a real one follows every report within a fraction of a second. */
const QUANTUM_MS = 60_000
const DAY_MS = 86_400_000
const MOST_DAYS = 10
/** A tenth of the machines may be down, which is what sets allow by default. */
const MAX_UNAVAILABLE = '10%'

interface Turn {
  readonly at: number
  readonly isDeath?: boolean
  readonly move: () => void
}

export const smoke: Figures = { machines: 20, components: 2 }
export const isTimeless = true

export async function run({ numbers }: BenchOptions): Promise<BenchResult> {
  const count = numbers['machines'] ?? MACHINES
  const names = Array.from({ length: numbers['components'] ?? COMPONENTS }, (_, i) => `component-${i}`)
  const random = seededRandom(numbers['seed'] ?? 1)
  const model = begin(count, names)
  const startedAt = model.now
  const days = () => (model.now - startedAt) / DAY_MS
  const dead = new Set<string>()
  const turns: Turn[] = []
  const counts = { plans: 0, stops: 0, violations: 0, most: 0, steps: 0 }
  const limit = Math.floor(count / 10)
  planDeaths(model, dead, turns, { random, perDay: count * DEATHS_A_DAY })
  const begun = new Set<string>()
  model.onPlan = ({ notices }) => {
    counts.plans++
    counts.stops += notices.filter((n) => n.reason === 'RevisionFailed').length
    counts.steps += notices.filter((n) => n.reason === 'StepOpen').length
  }
  while (days() < MOST_DAYS) {
    const made = model.planTurn()
    const { phase } = model.set.status ?? {}
    if (phase === 'Complete' || (phase === 'Blocked' && turns.every((t) => t.isDeath))) break
    model.defender()
    for (const slice of model.set.status?.slices ?? []) {
      if (slice.permit === undefined || model.permits.get(slice.permit)?.status?.phase !== 'Granted') continue
      for (const name of slice.machines) {
        const key = `${slice.permit} ${name}`
        if (begun.has(key)) continue
        begun.add(key)
        if (!dead.has(name)) switchOver(model, dead, turns, { name, slice, random })
      }
    }
    const down = dead.size + [...model.machines.values()].filter((m) => isBetween(m) && !isDead(m, dead)).length
    counts.most = Math.max(counts.most, down)
    if (down > limit + dead.size) counts.violations++
    pass(model, turns, made.requeueAfter ?? QUANTUM_MS)
  }
  const unfinished = [...model.machines.values()].filter((m) => !isAtNew(m) && !isDead(m, dead)).length
  return {
    figures: {
      days: rounded(days()),
      false_stops: counts.stops,
      budget_violations: counts.violations,
      unfinished,
      died: dead.size,
      most_down: counts.most,
      slices: model.permits.size,
      plans: counts.plans,
      machines: count,
      components: names.length,
    },
    peer: null,
    ratio: {},
  }
}

function begin(count: number, names: readonly string[]): RolloutModel {
  const at = (version: string) => Object.fromEntries(names.map((n) => [n, version]))
  const machines = Array.from({ length: count }, (_, i) =>
    workingMachine(`machine-${String(i).padStart(5, '0')}`, {
      versions: at('1.0.0'),
      zone: `zone-${i % 3}`,
      rack: `rack-${i % 200}`,
      class: `class-${i % 5}`,
    }),
  )
  const components = names.flatMap((n, i) =>
    ['1.0.0', '1.1.0'].map((v) => component(n, v, i < DRAINED ? { disruption: 'Drain' } : {})),
  )
  const rollout = { steps: STEPS, soak: SOAK, maxUnavailable: MAX_UNAVAILABLE } as const
  const model = new RolloutModel({ machines, set: componentSet(at('1.0.0'), rollout), components })
  model.planTurn()
  model.planTurn()
  model.declare(at('1.1.0'))
  return model
}

type Rolls = ReturnType<typeof seededRandom>

/** They come one after the other, at any moment, to any machine, and stay away. */
function planDeaths(
  model: RolloutModel,
  dead: Set<string>,
  turns: Turn[],
  { random, perDay }: { readonly random: Rolls; readonly perDay: number },
): void {
  const names = [...model.machines.keys()]
  let at = model.now
  while (at < model.now + MOST_DAYS * DAY_MS) {
    at += (-Math.log(1 - random.next()) / perDay) * DAY_MS
    const name = random.pick(names)
    const move = () => {
      const machine = model.machines.get(name)
      const node = model.nodes.get(name)
      if (machine === undefined || dead.has(name)) return
      dead.add(name)
      model.machines.set(name, silenced(machine, model.now))
      if (node !== undefined) model.nodes.set(name, { ...node, status: {} })
    }
    insert(turns, { at, move, isDeath: true })
  }
}

interface Switch {
  readonly name: string
  readonly slice: NonNullable<NonNullable<RolloutModel['set']['status']>['slices']>[number]
  readonly random: Rolls
}

/** Told, fetched and verified, drained where that is asked, switched, probed. */
function switchOver(
  model: RolloutModel,
  dead: ReadonlySet<string>,
  turns: Turn[],
  { name, slice, random }: Switch,
): void {
  const { component: c, version = '', permit = '' } = slice
  const isDrained =
    model.components.get(`${c}.${version}`)?.spec.disruption === 'Drain' || Number(c.split('-')[1]) < DRAINED
  const fetchedAt = model.now + 20_000 + random.below(60_000)
  const orderedAt = fetchedAt + (isDrained ? 60_000 + random.below(240_000) : 0)
  const doneAt = orderedAt + 25_000 + random.below(20_000)
  const set = (state: 'Fetching' | 'Staged' | 'Switching' | 'Healthy') => {
    const machine = model.machines.get(name)
    if (machine === undefined || dead.has(name)) return
    const isDone = state === 'Healthy'
    const order = state === 'Switching' ? { switch: { attempt: 2, permit } } : {}
    const told = (machine.spec.components ?? []).map((t) =>
      t.name === c ? { name: c, version, setRef: 'base', attempt: 2, ...order } : t,
    )
    const reports = (machine.status?.components ?? []).map((r) =>
      r.name === c
        ? { ...r, desired: version, attempt: 2, state, since: timestamp(model.now), ...(isDone && { version }) }
        : r,
    )
    const phase = state === 'Switching' ? 'Updating' : 'Ready'
    model.machines.set(name, {
      ...machine,
      spec: { ...machine.spec, components: told },
      status: { ...machine.status, phase, components: reports },
    })
  }
  set('Fetching')
  insert(turns, { at: fetchedAt, move: () => set('Staged') })
  insert(turns, { at: orderedAt, move: () => set('Switching') })
  insert(turns, { at: doneAt, move: () => set('Healthy') })
}

const isBetween = ({ status }: Machine): boolean => status?.phase === 'Updating'
const isDead = ({ metadata: { name = '' } }: Machine, dead: ReadonlySet<string>): boolean => dead.has(name)
const isAtNew = ({ status }: Machine): boolean => status?.components?.every((c) => c.version === '1.1.0') === true

/** In the order of time, from the back: what is due soon is taken off the end. */
function insert(turns: Turn[], turn: Turn): void {
  let [low, high] = [0, turns.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((turns[middle]?.at ?? 0) > turn.at) low = middle + 1
    else high = middle
  }
  turns.splice(low, 0, turn)
}

/** Advances to the next moment at which the set has work; everything due before it happens first. */
function pass(model: RolloutModel, turns: Turn[], lookMs: number): void {
  const next = turns.at(-1)?.at ?? Infinity
  const look = model.now + lookMs
  const until = Math.max(model.now + QUANTUM_MS, Math.min(look, next))
  for (let turn = turns.at(-1); turn !== undefined && turn.at <= until; turn = turns.at(-1)) {
    turns.pop()
    model.now = Math.max(model.now, turn.at)
    turn.move()
  }
  model.now = until
}
