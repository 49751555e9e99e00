// Stories of whole sets that go, come again under their name, or are overruled for a while; a canary runs through some of it.
import { API_GROUP_VERSION } from '#api/kind.ts'
import { componentCanary } from '#api/kinds/component-canary.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { seededRandom } from '#lib/random.ts'
import { type Agents, SET, type Stage, canary, declare, hold, nameOf, setSpec, unhold } from './fleet.ts'
import type { Story } from './stories.ts'

const plantSet = ({ fake }: Stage, { scale }: Agents, version: string, name = SET, more: object = {}): void =>
  void fake.plant(machineComponentSet, {
    apiVersion: API_GROUP_VERSION,
    kind: 'MachineComponentSet',
    metadata: { name },
    spec: { ...setSpec(version, scale), ...more },
  })

const uprootSet = ({ fake }: Stage, name = SET): void => fake.uproot(machineComponentSet, { name })

const below = ({ seed }: Stage, salt: number, most: number): number => seededRandom(seed * 7_001 + salt).below(most)

const AWAKE_MS = 50_000
/** Leases of permits of a deleted set expire after two minutes: a phase does not end before that. */
const LEASES_OVER_MS = 200_000

function stayAwake(stage: Stage): void {
  for (let at = AWAKE_MS; at <= LEASES_OVER_MS; at += AWAKE_MS)
    stage.clock.after(at, () => {
      hold(stage, `awake-${at}`, 'Retry', 1_000)
      stage.clock.after(500, () => unhold(stage, `awake-${at}`))
    })
}

const comesAgain: Story = {
  name: 'a set that is deleted and comes again',
  phases: (agents) => [
    {
      name: 'bump, delete, declare anew',
      counts: 'AtMost',
      act: (w, g) => {
        g.plantFleet(agents(), { declared: '1.1.0', outdated: agents().scale.some })
        const at = 1_000 + below(w, 21, 10_000)
        w.clock.after(at, () => uprootSet(w))
        w.clock.after(at + 5_000, () => plantSet(w, agents(), '1.1.0'))
        stayAwake(w)
      },
    },
  ],
}

const canaryAmongEdits: Story = {
  name: 'a canary, a bump, a revert, and the set is deleted',
  phases: (agents) => [
    { name: 'begin', act: (w, g) => g.plantFleet(agents(), { members: agents().scale.some }) },
    {
      name: 'try, bump, revert, delete, declare anew, abort',
      counts: 'AtMost',
      act: (w) => {
        canary(w, '1.1.0', [1, 3, 4].map(nameOf))
        const at = 500 + below(w, 22, 6_000)
        w.clock.after(at, () => declare(w, '1.2.0'))
        w.clock.after(at + 2_000 + below(w, 23, 4_000), () => declare(w, '1.0.0'))
        w.clock.after(14_000, () => uprootSet(w))
        w.clock.after(20_000, () => plantSet(w, agents(), '1.0.0'))
        w.clock.after(26_000, () => void w.fake.poke(componentCanary, { name: 'trial' }, { spec: { abort: true } }))
        stayAwake(w)
      },
    },
  ],
}

const overruled: Story = {
  name: 'a stronger set that comes and goes',
  phases: (agents) => [
    {
      name: 'bump, overrule, give way',
      counts: 'AtMost',
      act: (w, g) => {
        g.plantFleet(agents(), { declared: '1.1.0', outdated: agents().scale.some })
        const at = 1_000 + below(w, 24, 10_000)
        w.clock.after(at, () => plantSet(w, agents(), '1.2.0', 'strong', { priority: 10 }))
        w.clock.after(at + 10_000, () => uprootSet(w, 'strong'))
        stayAwake(w)
      },
    },
  ],
}

export const setStories: readonly Story[] = [comesAgain, canaryAmongEdits, overruled]
