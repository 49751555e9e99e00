// What the server of the console and its page say to each other: session, topics, snapshots, deltas, the stream, questions and writes. Types only.
import type { MachineColumn } from './machine-columns.ts'
import type { Lift, ObjectName, Stamp } from './basics.ts'
import type { BudgetsHead, BudgetRow } from './budget-topics.ts'
import type {
  ClusterRow,
  CommitRow,
  HomeHead,
  AttentionRow,
  MaintenanceRow,
  NodeHead,
  NodeRow,
  PipelineRow,
  RepairRow,
  SetHead,
  SetRow,
  SetPartRow,
} from './topics.ts'

/** `<start of the server>-<number>`: comparable only while the first part is the same. */
export type Revision = string

// ---------------------------------------------------------------- session: GET /api/session

export interface Session {
  readonly version: string
  readonly person: Person
  readonly clusters: readonly ClusterAccess[]
  /** Equal for equal clusters and rights: a stream that is opened with another one begins with `session`. */
  readonly digest: string
  /** The console has the repository of the fleet: commits can be prepared. */
  readonly canPrepare: boolean
  /** When the person has to sign in again. */
  readonly expires?: Stamp
}

/** GET /api/sign-in, without a session. POST /api/sign-out ends the session. */
export interface SignInWays {
  readonly ways: readonly ('Token' | 'Oidc')[]
  /** Host of the issuer that the page leads to. */
  readonly issuer?: string
}

/** POST /api/sign-in: without a cluster it opens a session, with one it adds a cluster to the session. */
export interface TokenRequest {
  readonly token: string
  readonly cluster?: string
}

/** The answer to POST /api/sign-out. */
export interface SignedOut {
  /** Where the browser goes next, to be signed out there too. */
  readonly next?: string
}

export interface Person {
  readonly name: string
  readonly groups: readonly string[]
  /** A link on loopback, a bearer token, OIDC, or the header of an authenticating proxy. */
  readonly how: 'Link' | 'Token' | 'Oidc' | 'Proxy'
}

/** What the person may do in one cluster. What is not listed is not drawn. */
export interface ClusterAccess {
  readonly name: string
  /** Whether releases are steered from here. */
  readonly isHub: boolean
  readonly state: 'Loading' | 'Connected' | 'Unreachable' | 'Refused' | 'SignedOut'
  /** Why it is not Connected. SignedOut: the person has no token for it yet. */
  readonly message?: string
  /** Its API server does not answer, and answered last at this time: the topics show what was read before. */
  readonly answeredAt?: Stamp
  /** Topics of this cluster that the person may read. */
  readonly topics: readonly TopicFamily[]
  /** Kinds on which the person may place a Hold; empty: none. */
  readonly holds: readonly string[]
  /** Whether the person may end a Hold before its time. */
  readonly canLift: boolean
  readonly canApprove: boolean
}

// ---------------------------------------------------------------- topics: GET /api/topic/<topic>

/** Each family of topics and what a snapshot of it is. */
export interface TopicTypes {
  readonly home: HomeTopic
  readonly pipeline: PipelineTopic
  readonly clusters: ClustersTopic
  readonly commits: CommitsTopic
  readonly machines: MachinesTopic
  readonly sets: SetsTopic
  readonly set: SetTopic
  readonly budgets: BudgetsTopic
  readonly repairs: RepairsTopic
  readonly maintenance: MaintenanceTopic
  readonly node: NodeTopic
}

export type TopicFamily = keyof TopicTypes

/** `home`, `pipeline`, `clusters`, `commits`; `machines/<cluster>` and the like; `set/<cluster>/<name>`, `node/<cluster>/<name>`. */
export type Topic = string

/** Every topic but machines: a head, and rows with an id that stays the same while the thing is the same. Their order means nothing. */
export interface Rows<H, R extends { readonly id: string }> {
  readonly topic: Topic
  readonly revision: Revision
  readonly at: Stamp
  readonly head: H
  readonly rows: readonly R[]
}

export type HomeTopic = Rows<HomeHead, AttentionRow>
export type PipelineTopic = Rows<Record<string, never>, PipelineRow>
export type ClustersTopic = Rows<Record<string, never>, ClusterRow>
export type CommitsTopic = Rows<Record<string, never>, CommitRow>
export type SetsTopic = Rows<Record<string, never>, SetRow>
export type SetTopic = Rows<SetHead, SetPartRow>
export type BudgetsTopic = Rows<BudgetsHead, BudgetRow>
export type RepairsTopic = Rows<Record<string, never>, RepairRow>
export type MaintenanceTopic = Rows<Record<string, never>, MaintenanceRow>
export type NodeTopic = Rows<NodeHead, NodeRow>

/** One number a column, in the order of MACHINE_COLUMNS. */
export type MachineCells = readonly number[]

export interface MachinesTopic {
  readonly topic: Topic
  readonly revision: Revision
  readonly at: Stamp
  /** Word 0 is the empty one. */
  readonly words: readonly string[]
  readonly names: readonly string[]
  /** All machines of the column, in the order of `names`. */
  readonly columns: Readonly<Record<MachineColumn, readonly number[]>>
}

export type Snapshot = TopicTypes[TopicFamily]

// ---------------------------------------------------------------- the stream: GET /events?topics=a,b&since=<revision>
//
// Read the snapshots first, then open the stream with the lowest of their revisions as `since`. A delta of a revision that a
// snapshot already has is skipped. EventSource sends Last-Event-ID by itself; it wins over `since`.
//   event: delta   id: <revision>   data: DeltaEvent
//   event: resync  id: <revision>   data: ResyncEvent   read the snapshots of these topics again
//   event: session                  data: {}            rights or clusters changed: read /api/session again
//   event: bye                      data: ByeEvent      the server closes the stream
// and a comment line every 15 seconds; a page that has seen nothing for 45 opens the stream again.

export interface DeltaEvent {
  readonly revision: Revision
  readonly at: Stamp
  readonly deltas: readonly Delta[]
}

export type Delta = RowsDelta | MachinesDelta

export interface RowsDelta {
  readonly topic: Topic
  /** The new head, whole, if it changed. */
  readonly head?: object
  /** New and changed rows, whole. */
  readonly set: readonly { readonly id: string }[]
  /** Ids of rows that are no longer there. */
  readonly gone: readonly string[]
}

export interface MachinesDelta {
  readonly topic: Topic
  /** To be appended to the words. */
  readonly words: readonly string[]
  /** New and changed machines: name and cells. */
  readonly machines: readonly (readonly [name: string, cells: MachineCells])[]
  readonly gone: readonly string[]
}

export interface ResyncEvent {
  readonly revision: Revision
  readonly topics: readonly Topic[]
}

export interface ByeEvent {
  /** TooManyStreams: another page has the place of this one, which stays closed until a person turns to it again. After the others it is opened again at once; AskAgain: so that a proxy tells who asks, and nothing is wrong. */
  readonly reason: 'SessionEnded' | 'TooManyStreams' | 'Stopping' | 'AskAgain'
  /** For a person, with what they can do. */
  readonly message?: string
}

// ---------------------------------------------------------------- questions

/** GET /api/why?cluster=&kind=&name=[&namespace=]: the tree that `kubenode why` (and for a Node `why-not`) prints. */
export interface WhyAnswer {
  readonly cluster: string
  readonly kind: string
  readonly name: string
  readonly tree: WhyNode
  /** The same in a terminal. */
  readonly command: string
}

export interface WhyNode {
  readonly text: string
  /** Equal for one cause; absent: the line explains another one. */
  readonly cause?: string
  /** What lifts it: a command that can be copied, or a state that has to come. */
  readonly lift?: Lift
  /** The object that this line is about, where there is one to go to. */
  readonly object?: ObjectName
  readonly below: readonly WhyNode[]
}

/** GET /api/search?q=: at most 50 hits, best first. */
export interface SearchAnswer {
  readonly hits: readonly SearchHit[]
  readonly isTruncated: boolean
}

export interface SearchHit extends ObjectName {
  /** What it is now: a phase, a commit, a version. */
  readonly text: string
}

/** GET /api/past?topic=&at=: the snapshot at that moment, or the oldest one that is kept. */
export interface PastAnswer {
  /** Where the memory begins. */
  readonly begins: Stamp
  readonly ends: Stamp
  readonly snapshot: Snapshot
}

/** GET /api/past?topic=&from=&to=: what changed between the two moments. */
export interface ChangesAnswer {
  readonly begins: Stamp
  readonly ends: Stamp
  readonly delta: Delta
}

// ---------------------------------------------------------------- writes: POST, application/json, same origin only

/** POST /api/hold. `until` is at most what the command line allows for the effect. */
export interface HoldRequest {
  readonly cluster: string
  readonly effect: 'Pause' | 'Freeze' | 'Pin' | 'Retry' | 'Abort' | 'Unprotect' | 'AllowEdit' | 'Promote'
  readonly target: { readonly kind: string; readonly name: string; readonly namespace?: string }
  /** The revision, digest or stage of the effects that need one. */
  readonly to?: string
  readonly reason: string
  readonly until: Stamp
}

/** POST /api/lift: ends a Hold before its time. */
export interface LiftRequest {
  readonly cluster: string
  readonly name: string
}

/** POST /api/approval: exactly one digest that the object asks for. */
export interface ApprovalRequest {
  readonly cluster: string
  readonly of: {
    readonly kind: 'OperationPermit' | 'Release' | 'FleetSource'
    readonly name: string
    readonly namespace?: string
  }
  readonly digest: string
  readonly reason: string
  readonly until: Stamp
}

export interface Written {
  readonly kind: 'OperationalHold' | 'Approval'
  readonly name: string
  /** The same in a terminal. */
  readonly command: string
  /** Who does not count it, and whose approval they ask for. */
  readonly warnings?: readonly string[]
}

/** The body of every answer that is not 2xx. */
export interface Refusal {
  readonly code: string
  readonly message: string
}
