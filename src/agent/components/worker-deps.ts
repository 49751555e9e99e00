// What the loop of one component may read and do.
import type { Clock } from '#lib/clock.ts'
import type { Logger } from '#lib/log.ts'
import type { Random } from '#lib/random.ts'
import type { MachineComponentSpec } from '#api/kinds/machine-component.ts'
import type { JournalDeps } from './journal.ts'
import type { Missing } from './seen.ts'
import type { PermitReading } from './permit-reading.ts'
import type { Probe, ProbeAnswer } from './probe.ts'
import type { Mate } from './shared-reboot.ts'
import type { StageRequest, Staged } from './stage.ts'
import type { SwitchDeps } from './switch.ts'

export interface WorkerDeps extends JournalDeps, SwitchDeps {
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly stage: (request: StageRequest, signal: AbortSignal) => Promise<Staged>
  readonly readPermit: (permit: string, forReboot: boolean) => Promise<PermitReading>
  /** Whether the node still has the taint for pending components; undefined when it cannot be read. */
  readonly readNodePending: () => Promise<boolean | undefined>
  readonly runProbe: (probe: Probe, component: string, watchedMs: number) => Promise<ProbeAnswer>
  /** Whether a user on the node forbids disruptions; absent where that is not possible. */
  readonly isNodeFrozen?: () => Promise<boolean>
  /** Why a version may no longer be installed; absent where that cannot be determined. */
  readonly refusal?: (spec: MachineComponentSpec) => Promise<string | undefined>
  /** The node is handed back with its components in place. */
  readonly isObserved?: () => boolean
  /** A process of an earlier hook that was killed and has not ended; absent where there is no host to hang on. */
  readonly hungHook?: (component: string) => number | undefined
  /** The first unmet requirement on other components. */
  readonly missingRequirement: (spec: MachineComponentSpec) => Missing | undefined
  /** The other components of the machine; absent where there is one. */
  readonly mates?: () => Promise<readonly Mate[]>
  /** Called when a change may matter to other components. */
  readonly onChange: () => void
}
