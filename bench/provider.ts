// How soon a thousand machines that are declared at once are Ready in a region that throttles, against what the vendor's limit allows, and whether one of them got two
// hosts, a host was left over, or a call was refused. On a clock that jumps, for both vendors; `kills` ends the controllers so often on the way.
import { systemClock } from '#lib/system-clock.ts'
import { type Vendor, VENDORS } from '#test/doubles/clouds/worlds.ts'
import { LIMITS, ProviderWorld, soonestMs } from './provider/world.ts'
import { type BenchOptions, type BenchResult, type Figures, rounded } from './result.ts'

const MACHINES = 1_000
const KILLS = 3
/** Enough for a wrong host to be noticed. */
const WATCHED_MS = 20 * 60_000
const LONGEST_MS = 4 * 3_600_000

export const smoke: Figures = { machines: 10, kills: 1 }
export const isTimeless = true

export async function run({ numbers }: BenchOptions): Promise<BenchResult> {
  const machines = numbers['machines'] ?? MACHINES
  const kills = numbers['kills'] ?? KILLS
  const of = new Map<string, Figures>()
  for (const vendor of VENDORS) {
    const figures = await measured(vendor, machines, kills)
    console.error(`${vendor.name} ${JSON.stringify(figures)}`)
    of.set(vendor.name, figures)
  }
  const all = [...of.values()]
  const sum = (name: string) => all.reduce((total, figures) => total + (figures[name] ?? 0), 0)
  const most = (name: string) => Math.max(...all.map((figures) => figures[name] ?? 0))
  return {
    figures: {
      machines,
      kills,
      hosts_twice: sum('hosts_twice'),
      orphans: sum('orphans'),
      calls_over_limit: sum('calls_over_limit'),
      ready_over_limit: most('ready_over_limit'),
      ...Object.fromEntries(
        [...of].flatMap(([name, figures]) =>
          ['ready_s', 'limit_s', 'ready_over_limit', 'calls', 'wall_s'].map((f) => [`${name}_${f}`, figures[f] ?? 0]),
        ),
      ),
    },
    peer: null,
    ratio: {},
  }
}

async function measured(vendor: Vendor, machines: number, kills: number): Promise<Figures> {
  const world = new ProviderWorld(vendor)
  const before = systemClock.monotonic()
  world.start()
  world.order(machines)
  for (let kill = 1; kill <= kills; kill++) {
    await world.until(() => world.region.instances.size >= (machines * kill) / (kills + 1), LONGEST_MS)
    world.kill()
  }
  const isReady = await world.until(() => world.ready() === machines, LONGEST_MS)
  if (!isReady) console.error(`${vendor.name}: only ${world.ready()} of ${machines} machines are Ready`)
  const readyMs = world.clock.monotonic()
  await world.until(() => false, WATCHED_MS)
  const limitMs = soonestMs(LIMITS[vendor.name](vendor.runAction), machines)
  return {
    hosts_twice: world.twice(),
    orphans: world.orphans(),
    calls_over_limit: world.region.overLimit,
    ready_s: Math.round(readyMs / 1_000),
    limit_s: Math.round(limitMs / 1_000),
    ready_over_limit: rounded(readyMs / Math.max(1, limitMs)),
    calls: [...world.region.calls.values()].reduce((a, b) => a + b, 0),
    wall_s: rounded((systemClock.monotonic() - before) / 1_000),
  }
}
