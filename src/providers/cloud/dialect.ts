// A vendor's names for what a cloud provider needs: its calls, the places of fields in its answers, and its terms. Only data and pure functions; the account
// sends, retries and judges. `Part` is a part of an answer, `P` the parameters of a host.
import type { Field } from '#api/build.ts'
import type { Capabilities, FaultCategory, MaintenanceAnswer, Offering } from '../port.ts'
import type { CloudHost, CloudMaintenance } from './hosts.ts'
import type { Codes } from './codes.ts'
import type { Params } from './call.ts'

/** A call and how to send it. */
export interface Asked {
  readonly action: string
  readonly params: Params
  /** Not repeatable, because a second call would act twice, as with a reboot. */
  readonly once?: true
}

/** An instance as in an answer, unvalidated: missing fields are undefined. */
export interface SeenInstance {
  readonly id: string | undefined
  readonly status?: string | undefined
  readonly tags?: ReadonlyMap<string, string>
  readonly zone?: string | undefined
  readonly type?: string | undefined
  readonly isSpot?: boolean
  readonly address?: string | undefined
  readonly created?: string | undefined
  /** The vendor is reclaiming a spot host. */
  readonly isReclaimed?: boolean
}

/** Parameters common to all vendors. */
export interface CommonParams {
  readonly type?: string
  readonly zone?: string
  readonly tags?: string
}

/** A host to create, with its request parsed. */
export interface NewInstance<P> {
  readonly params: P
  readonly token: string
  readonly machine: string
  readonly type: string
  readonly network: string
  readonly zone: string | undefined
  readonly market: Offering['market']
  readonly tags: readonly (readonly [name: string, value: string])[]
  /** In base64. */
  readonly userData: string
}

export interface Dialect<Part, P extends CommonParams> {
  /** The provider's name. */
  readonly name: string
  /** Shown to users. */
  readonly vendor: string
  readonly capabilities: Capabilities
  readonly codes: Codes
  readonly paramsSchema: Field<P, unknown>
  /** The parameter that lists a network per zone. */
  readonly networks: { readonly param: string; of(params: P): string }
  /** Whether these parameters leave only some of a zone's hosts to choose from, as a placement group does. */
  isPicky(params: P): boolean
  isId(text: string): boolean
  /** Parameters of every call. */
  everyCall(region: string): Params
  /** The relevant part of an answer's body; undefined if it answers a different call. */
  answerIn(action: string, body: unknown): Part | undefined
  /** The next page's token. */
  nextIn(answer: Part): string | undefined
  readonly instances: {
    readonly list: Asked
    withTag(name: string, value: string): Params
    /** Uses a form in which one missing instance does not fail the answer for all others. */
    withIds(ids: readonly string[]): Params
    /** Undefined if there is no such list. */
    in(answer: Part): readonly Part[] | undefined
    seen(instance: Part): SeenInstance
    /** Any state not listed here is unknown. */
    readonly states: Readonly<Record<string, CloudHost['state']>>
  }
  readonly events: {
    /** All of them, or at least this one. */
    list(eventId?: string): Asked
    in(answer: Part): readonly CloudMaintenance[] | undefined
    answer(event: CloudMaintenance, answer: MaintenanceAnswer): Asked
  }
  /** Equal for equal instances, or the token would be refused. */
  make(instance: NewInstance<P>): Asked
  made(answer: Part): readonly SeenInstance[] | undefined
  remove(id: string): Asked
  power(id: string, to: 'On' | 'Off', hard: boolean): Asked
  reboot(id: string, hard: boolean): Asked
  report(id: string, category: FaultCategory, text: string): Asked
}

/** Limit of descriptions in a status, and of what both vendors accept. */
export const DESCRIPTION_CHARS = 200

/** `Tag.1.Key`, `Tag.1.Value`, … */
export const numberedTags = (prefix: string, tags: NewInstance<unknown>['tags']): Params =>
  Object.fromEntries(
    tags.flatMap(([name, value], i) => [
      [`${prefix}.${i + 1}.Key`, name],
      [`${prefix}.${i + 1}.Value`, value],
    ]),
  ) as Params

/** `Id.1`, `Id.2`, … */
export const numbered = (prefix: string, values: readonly string[]): Params =>
  Object.fromEntries(values.map((value, i) => [`${prefix}.${i + 1}`, value]))
