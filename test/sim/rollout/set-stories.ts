// Stories of whole sets that go, come again under their name, or are overruled for a while, with or without what they own; a canary runs through some of it.
import { API_GROUP_VERSION } from '#api/kind.ts'
import { componentCanary } from '#api/kinds/component-canary.ts'
import { type MachineComponentSet, machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { type OperationPermit, operationPermit } from '#api/kinds/operation-permit.ts'
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { openSwitches } from '#api/protocol/component-order.ts'
import { isSwitching } from '#api/protocol/switch.ts'
import { SYSTEM_NAMESPACE, TAINTS } from '#api/names.ts'
import { controllerRevisionType } from '#controllers/componentset/revisions/revisions.ts'
import { seededRandom } from '#lib/random.ts'
import { nodeType } from '#nodes/objects.ts'
import { BAD, readyNode } from '#test/support/fleets/rollout-fleet.ts'
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

/** Deleted without what it owns: `kubectl delete --cascade=orphan`. */
function orphan(stage: Stage): void {
  const { fake } = stage
  const { revisions } = (fake.peek(machineComponentSet, { name: SET }) as MachineComponentSet).status ?? {}
  uprootSet(stage)
  for (const name of new Set([revisions?.current, revisions?.update]))
    if (name !== undefined)
      fake.poke(controllerRevisionType, { namespace: SYSTEM_NAMESPACE, name }, { metadata: { ownerReferences: null } })
}

export const replaced: Story = {
  name: 'a set that is replaced by another of its name',
  phases: (agents) => [
    { name: 'begin', act: (_, g) => g.plantFleet(agents(), { declared: '1.1.0', members: agents().scale.some }) },
    {
      name: 'what it owned is orphaned',
      counts: 'AtMost',
      act: (w) => {
        orphan(w)
        plantSet(w, agents(), '1.0.0')
      },
    },
    {
      name: 'what it owned is not collected yet',
      counts: 'AtMost',
      act: (w) => {
        uprootSet(w)
        plantSet(w, agents(), '1.1.0')
      },
    },
  ],
}

const LOSSES = 5
const LOOK_MS = 10

export const lostPermits: Story = {
  name: 'permits that are deleted before they are decided',
  phases: (agents) => [
    {
      name: 'bump, and lose what is asked for',
      counts: 'AtMost',
      act: (w, g) => {
        g.plantFleet(agents(), { declared: '1.1.0', outdated: agents().scale.some })
        let left = LOSSES
        const look = () => {
          const set = w.fake.peek(machineComponentSet, { name: SET }) as MachineComponentSet | undefined
          for (const { permit: name = '' } of set?.status?.slices ?? []) {
            const permit = w.fake.peek(operationPermit, { name }) as OperationPermit | undefined
            if (permit === undefined || permit.status?.phase !== undefined || left-- <= 0) continue
            w.fake.uproot(operationPermit, { name })
          }
          if (left > 0 && w.clock.now() < until) w.clock.after(LOOK_MS, look)
        }
        const until = w.clock.now() + LEASES_OVER_MS
        look()
      },
    },
  ],
}

/** A canary of one component and a bump of another, in the same second: each of the two requests is shaped by a cache without the other. */
export const canaryAndBump: Story = {
  name: 'a canary and a bump in the same second',
  phases: (agents) => [
    {
      name: 'begin',
      act: (_, g) => g.plantFleet(agents(), { declared: '1.0.0', members: agents().scale.some }),
    },
    { name: 'a second component', act: (w) => declare(w, '1.0.0', '1.0.0') },
    {
      name: 'try and bump',
      act: (w) => {
        canary(w, '1.1.0', [1, 3, 4].map(nameOf))
        w.clock.after(below(w, 27, 300), () => declare(w, '1.0.0', '1.1.0'))
        stayAwake(w)
      },
    },
    { name: 'promote', act: (w) => declare(w, '1.1.0', '1.1.0') },
  ],
}

/** By a person; its kubelet starts and registers it again, with the taint that every new Node has. */
function replaceNode({ fake, clock }: Stage, name: string, afterMs: number): void {
  fake.uproot(nodeType, { name })
  const spec = { taints: [{ key: TAINTS.componentsPending, effect: 'NoSchedule' }] }
  clock.after(afterMs, () => fake.plant(nodeType, { ...readyNode(name, clock.now()), metadata: { name }, spec }))
}

const machinesIn = ({ fake }: Stage, { scale }: Agents): readonly Machine[] =>
  Array.from({ length: scale.machines }, (_, i) => fake.peek(machineType, { name: nameOf(i) }) as Machine)

/** As soon as it is so; at the latest after a while, since faults may keep it from ever being seen. */
function onceSo(stage: Stage, isSo: () => boolean, act: () => void): void {
  const until = stage.clock.now() + LEASES_OVER_MS
  const look = () => {
    if (isSo() || stage.clock.now() >= until) act()
    else stage.clock.after(LOOK_MS, look)
  }
  look()
}

/** Its agent says so after a while only. */
const isTrying = (machine: Machine, version: string): boolean =>
  openSwitches(machine).some((c) => c.version === version) ||
  machine.status?.components?.some((c) => c.desired === version && isSwitching(c.state)) === true

const runs =
  (version: string) =>
  ({ status }: Machine) =>
    status?.components?.some((c) => c.version === version && c.state === 'Healthy') === true

/** Two commits forward, the second one bad; its machine's Node is deleted under it; then all the way back. */
export const nodeDeleted: Story = {
  name: 'a Node that is deleted while a bad version probes',
  simulatedOnly: 'hollow agents register no Node; test/e2e/rollout deletes that of a real one',
  phases: (agents) => [
    { name: 'begin', act: (_, g) => g.plantFleet(agents()) },
    {
      name: 'forward, a bad version, a deleted Node, and back',
      counts: 'AtMost',
      act: (w) => {
        declare(w, '1.1.0')
        const areTwoDone = () => machinesIn(w, agents()).filter(runs('1.1.0')).length >= 2
        const tried = () => machinesIn(w, agents()).find((m) => isTrying(m, BAD))
        const deleteTried = () => {
          const machine = tried()
          if (machine !== undefined) replaceNode(w, machine.metadata.name ?? '', 500 + below(w, 25, 3_000))
          w.clock.after(2_000 + below(w, 26, 8_000), () => declare(w, '1.0.0'))
        }
        onceSo(w, areTwoDone, () => {
          declare(w, BAD)
          onceSo(w, () => tried() !== undefined, deleteTried)
        })
      },
    },
  ],
}

/** The rollout completes and the machine gets its components again: its own slice has switched, so another slice of the same step installs them. */
export const ordersEmptied: Story = {
  name: 'the components of a machine are taken out of its spec while its step is inspected',
  phases: (agents) => [
    { name: 'begin', act: (_, g) => g.plantFleet(agents()) },
    {
      name: 'forward, and one machine is emptied by hand',
      act: (w) => {
        declare(w, '1.1.0')
        const inspected = () => {
          const { status } = (w.fake.peek(machineComponentSet, { name: SET }) ?? {}) as Partial<MachineComponentSet>
          return (status?.slices ?? []).find(({ phase, step }) => step > 0 && phase === 'Inspecting')?.machines[0]
        }
        onceSo(
          w,
          () => inspected() !== undefined,
          () => {
            const name = inspected()
            if (name !== undefined) w.fake.poke(machineType, { name }, { spec: { components: null } })
          },
        )
      },
    },
  ],
}

export const setStories: readonly Story[] = [
  comesAgain,
  canaryAmongEdits,
  overruled,
  replaced,
  lostPermits,
  nodeDeleted,
  canaryAndBump,
  ordersEmptied,
]
