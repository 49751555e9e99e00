// What every handler works with: the server's parts, and the request as the pipeline has understood it so far.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '#lib/clock.ts'
import type { Random } from '#lib/random.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { Authorizer } from '../auth/authorizer.ts'
import type { Credentials } from '#lib/x509/server-keys.ts'
import type { TokenSigner } from '../auth/tokens.ts'
import type { RequestUser, StrategyContext } from '../builtin/kind.ts'
import type { Reader } from '../flow/gate.ts'
import type { FlowLevel } from '../flow/levels.ts'
import type { AcceptedForm } from '../http/accept.ts'
import type { ResourcePath } from '../http/request-path.ts'
import type { Registry } from '../registry/registry.ts'
import type { Served } from '../registry/served.ts'
import type { Store } from '../storage/store.ts'
import type { AdmissionChain } from '../admission/chain.ts'
import type { JudgeSubject } from '../auth/judge-subject.ts'

export interface ServerParts {
  readonly store: Store
  readonly registry: Registry
  readonly authorizer: Authorizer
  readonly admission: AdmissionChain
  readonly clock: Clock
  readonly random: Random
  readonly uid: () => string
  readonly signer: TokenSigner
  readonly credentials: Credentials
  readonly judgeSubject: JudgeSubject
  /** Of Kubernetes, as it reports it. */
  readonly version: string
  readonly podLog?: ReadPodLog
}

/** The log of a container, from the node that has it; undefined: there is none. */
export type ReadPodLog = (pod: KubeObject, container: string) => Promise<Buffer | undefined>

/** One request for a resource. Warnings are collected on the way and sent as headers. */
export interface Call {
  readonly parts: ServerParts
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly user: RequestUser
  /** Size limits for its requests and objects. */
  readonly level: FlowLevel
  /** Who takes the answer: a watch tells it what it sends. */
  readonly reader: Reader
  readonly path: ResourcePath
  readonly query: URLSearchParams
  readonly served: Served
  readonly accept: AcceptedForm
  readonly warnings: Set<string>
}

/** A long answer, made piece by piece as its reader takes it. */
export interface Streamed {
  /** The same each time. */
  readonly parts: Iterable<Buffer>
  /** Bytes of stored versions that it keeps in memory until it is sent. */
  readonly keeps: number
  /** Of all parts, where it is known before they are made. */
  readonly length?: number
}

/** What a handler returns; a watch answers by itself and returns nothing. */
export interface Answer {
  readonly code: number
  readonly body: Buffer | Streamed | undefined
  readonly type?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Never compressed, however large. */
  readonly verbatim?: boolean
}

export function strategyContext(parts: ServerParts, user: RequestUser, dryRun: boolean): StrategyContext {
  const { store } = parts
  return {
    now: parts.clock.now(),
    user,
    dryRun,
    uid: parts.uid,
    random: () => parts.random.next(),
    find: (group, plural, namespace, name) => store.get({ resource: `${group}/${plural}`, namespace, name })?.value,
    list: (group, plural, namespace) => listValues(store, `${group}/${plural}`, namespace),
  }
}

const listValues = (store: Store, resource: string, namespace: string | undefined): readonly KubeObject[] =>
  Array.from(store.collection(resource).list(namespace), (s) => s.value)

/** The writer for managedFields: the parameter, else the client's name. */
export function managerOf(call: Pick<Call, 'request'>, fieldManager: string): string {
  if (fieldManager !== '') return fieldManager
  const agent = call.request.headers['user-agent'] ?? ''
  return (agent.split('/', 1)[0] ?? '').slice(0, 128)
}

export type Handler = (call: Call) => Promise<Answer | undefined>
