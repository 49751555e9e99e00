// Dependencies of the actions on a machine and its host.
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import type { Machine } from '#api/kinds/machine.ts'
import type { Clock } from '#lib/clock.ts'
import type { Logger } from '#lib/log.ts'
import type { Random } from '#lib/random.ts'
import type { KubeClient } from '#kube/client.ts'
import type { WriteOutcome } from '#kube/outcome.ts'
import type { Provider } from '#providers/port.ts'
import type { SharedInformer } from '#runtime/informers.ts'
import type { SharedReads } from '#runtime/shared-reads.ts'
import type { SecretValues } from '#identity/secrets/secret-values.ts'
import type { JoinGround } from '../../module.ts'
import type { ExhaustedOfferings } from '../provisioning/exhausted-offerings.ts'
import type { HostSightings } from './sightings.ts'

export interface MachineTools {
  readonly client: KubeClient
  readonly clock: Clock
  readonly log: Logger
  readonly random: Random
  readonly providers: Readonly<Record<string, Provider>>
  readonly cluster: string
  readonly join: JoinGround
  /** Shows our own writes before the watch delivers them. */
  readonly cache: Pick<SharedInformer<Machine>, 'assume' | 'byIndex'>
  readonly exhausted: ExhaustedOfferings
  readonly sightings: HostSightings
  readonly secretValues: SecretValues
  /** A permit as the server has it now. Reads are shared: a slice gives a hundred orders under one permit. */
  readonly permitNow: SharedReads<WriteOutcome<OperationPermit | undefined>>
}
