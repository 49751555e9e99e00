// How a vendor names what a cloud provider asks for: its calls, where its answers have what is read, and its words. All of it is data and pure functions; the account
// sends, repeats and judges. `Part` is a part of an answer, `P` the parameters of a host.
import type { Field } from '#api/build.ts'
import type { Capabilities, FaultCategory, MaintenanceAnswer, Offering } from '../port.ts'
import type { CloudHost, CloudMaintenance } from './hosts.ts'
import type { Codes } from './codes.ts'
import type { Params } from './call.ts'

/** A call and how it is sent. */
export interface Asked {
  readonly action: string
  readonly params: Params
  /** A second one would do it twice, as with a reboot. */
  readonly once?: true
}

/** An instance as an answer shows it, unjudged: what it does not say is undefined. */
export interface SeenInstance {
  readonly id: string | undefined
  readonly status?: string | undefined
  readonly tags?: ReadonlyMap<string, string>
  readonly zone?: string | undefined
  readonly type?: string | undefined
  readonly isSpot?: boolean
  readonly address?: string | undefined
  readonly created?: string | undefined
  /** The vendor is taking a spot host back. */
  readonly isReclaimed?: boolean
}

/** What the parameters of all vendors have. */
export interface CommonParams {
  readonly type?: string
  readonly zone?: string
  readonly tags?: string
}

/** A host that is to be made, once its request was read. */
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
  /** Of the provider. */
  readonly name: string
  /** For people. */
  readonly vendor: string
  readonly capabilities: Capabilities
  readonly codes: Codes
  readonly paramsSchema: Field<P, unknown>
  /** The parameter with a network for each zone. */
  readonly networks: { readonly param: string; of(params: P): string }
  isId(text: string): boolean
  /** Parameters of every call. */
  everyCall(region: string): Params
  /** What the body of an answer has for us; undefined when it is the answer to something else. */
  answerIn(action: string, body: unknown): Part | undefined
  /** Token of the next page. */
  nextIn(answer: Part): string | undefined
  readonly instances: {
    readonly list: Asked
    withTag(name: string, value: string): Params
    /** Asked for in a way in which one missing instance does not fail the answer about all others. */
    withIds(ids: readonly string[]): Params
    /** Undefined where there is no such list. */
    in(answer: Part): readonly Part[] | undefined
    seen(instance: Part): SeenInstance
    /** A state that is not among them is none. */
    readonly states: Readonly<Record<string, CloudHost['state']>>
  }
  readonly events: {
    /** All of them, or at least this one. */
    list(eventId?: string): Asked
    in(answer: Part): readonly CloudMaintenance[] | undefined
    answer(event: CloudMaintenance, answer: MaintenanceAnswer): Asked
  }
  /** Equal ones for equal instances, or the token would be refused. */
  make(instance: NewInstance<P>): Asked
  made(answer: Part): readonly SeenInstance[] | undefined
  remove(id: string): Asked
  power(id: string, to: 'On' | 'Off', hard: boolean): Asked
  reboot(id: string, hard: boolean): Asked
  report(id: string, category: FaultCategory, text: string): Asked
}

/** Of descriptions: what a status takes, and what both vendors take of us. */
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
