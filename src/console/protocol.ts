// The protocol between the console's server and its page: session, topics, snapshots, deltas, stream, queries and writes. Types only.
import type { MachineColumn } from './machine-columns.ts'
import type { Lift, ObjectName, Stamp } from './basics.ts'
import type { BudgetsHead, BudgetRow } from './budget-topics.ts'
import type { NodeHead, NodeRow } from './node-topics.ts'
import type { SetHead, SetRow, SetPartRow } from './set-topics.ts'
import type { ClusterRow, CommitRow, HomeHead, AttentionRow, MaintenanceRow, PipelineRow, RepairRow } from './topics.ts'

/** `<server start>-<number>`: comparable only within the same server start. */
export type Revision = string

// ---------------------------------------------------------------- session: GET /api/session

export interface Session {
  readonly version: string
  readonly person: Person
  readonly clusters: readonly ClusterAccess[]
  /** Equal for equal clusters and rights: a stream opened with a different digest starts with `session`. */
  readonly digest: string
  /** The console has the fleet's repository, so it can prepare commits. */
  readonly canPrepare: boolean
  /** The console has a recorded history: the past reaches back before its start, and objects have lives. */
  readonly isRecorded: boolean
  /** When the user has to sign in again. */
  readonly expires?: Stamp
}

/** GET /api/sign-in, without a session. POST /api/sign-out ends the session. */
export interface SignInWays {
  readonly ways: readonly ('Token' | 'Oidc')[]
  /** Host of the issuer that the page redirects to. */
  readonly issuer?: string
}

/** POST /api/sign-in: without a cluster it opens a session, with one it adds that cluster to the session. */
export interface TokenRequest {
  readonly token: string
  readonly cluster?: string
}

/** The answer to POST /api/sign-out. */
export interface SignedOut {
  /** The browser's next stop, to sign out there too. */
  readonly next?: string
}

export interface Person {
  readonly name: string
  readonly groups: readonly string[]
  /** A loopback link, a bearer token, OIDC, or a header from an authenticating proxy. */
  readonly how: 'Link' | 'Token' | 'Oidc' | 'Proxy'
}

/** What the user may do in one cluster. Anything not listed is not drawn. */
export interface ClusterAccess {
  readonly name: string
  /** Whether releases are managed from here. */
  readonly isHub: boolean
  readonly state: 'Loading' | 'Connected' | 'Unreachable' | 'Refused' | 'SignedOut'
  /** Why it is not Connected. SignedOut: the user has no token for it yet. */
  readonly message?: string
  /** Set while its API server does not answer: when it last did. The topics show the last state that was read. */
  readonly answeredAt?: Stamp
  /** Topics of this cluster that the user may read. */
  readonly topics: readonly TopicFamily[]
  /** Kinds on which the user may place a Hold; empty for none. */
  readonly holds: readonly string[]
  /** Whether the user may end a Hold early. */
  readonly canLift: boolean
  readonly canApprove: boolean
}

// ---------------------------------------------------------------- topics: GET /api/topic/<topic>

/** Each topic family with its snapshot type. */
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

/** Every topic except machines: a head, and rows with an id that is stable for the same object. Their order has no meaning. */
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

/** One number per column, in the order of MACHINE_COLUMNS. */
export type MachineCells = readonly number[]

export interface MachinesTopic {
  readonly topic: Topic
  readonly revision: Revision
  readonly at: Stamp
  /** Word 0 is empty. */
  readonly words: readonly string[]
  readonly names: readonly string[]
  /** All machines per column, in the order of `names`. */
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
  /** The complete new head, if it changed. */
  readonly head?: object
  /** New and changed rows, complete. */
  readonly set: readonly { readonly id: string }[]
  /** Ids of removed rows. */
  readonly removed: readonly string[]
}

export interface MachinesDelta {
  readonly topic: Topic
  /** Append to the words. */
  readonly words: readonly string[]
  /** New and changed machines: name and cells. */
  readonly machines: readonly (readonly [name: string, cells: MachineCells])[]
  readonly removed: readonly string[]
}

export interface ResyncEvent {
  readonly revision: Revision
  readonly topics: readonly Topic[]
}

export interface ByeEvent {
  /**
   * TooManyStreams: another page took this one's place, and the stream stays closed until a user returns to this page. For other reasons it reopens at once.
   * AskAgain: nothing is wrong; a proxy must identify the user again.
   */
  readonly reason: 'SessionEnded' | 'TooManyStreams' | 'Stopping' | 'AskAgain'
  /** For the user, including what to do. */
  readonly message?: string
}

// ---------------------------------------------------------------- questions

/** GET /api/why?cluster=&kind=&name=[&namespace=]: the tree of `kubenode why` (for a Node: `why-not`). */
export interface WhyAnswer {
  readonly cluster: string
  readonly kind: string
  readonly name: string
  readonly tree: WhyNode
  /** The equivalent terminal command. */
  readonly command: string
}

export interface WhyNode {
  readonly text: string
  /** Equal for the same cause; left out if the line explains another one. */
  readonly cause?: string
  /** What ends the wait: a command to copy, or a state that has to be reached. */
  readonly lift?: Lift
  /** The line's object, if there is one to link to. */
  readonly object?: ObjectName
  readonly below: readonly WhyNode[]
}

/** GET /api/search?q=: at most 50 hits, best first. */
export interface SearchAnswer {
  readonly hits: readonly SearchHit[]
  readonly isTruncated: boolean
}

export interface SearchHit extends ObjectName {
  /** In words, if its name is made up: `repair of node n-3 by rule kernel-deadlock`. */
  readonly called?: string
  /** Its current state: a phase, a commit, a version. */
  readonly text: string
}

/** GET /api/past?topic=&at=: the snapshot at that moment, or the oldest kept one. */
export interface PastAnswer {
  /** The start of the memory. */
  readonly begins: Stamp
  readonly ends: Stamp
  readonly snapshot: Snapshot
}

/** GET /api/past?topic=&from=&to=: the changes between the two moments. */
export interface ChangesAnswer {
  readonly begins: Stamp
  readonly ends: Stamp
  readonly delta: Delta
}

/** A time in which something was not recorded: what is shown of it was known before. */
export interface RecordedGap {
  readonly cluster: string
  readonly starts: Stamp
  /** Left out: it lasts. */
  readonly ends?: Stamp
  readonly why: string
  /** In words: `budgets`. Empty: all kinds. */
  readonly kinds: readonly string[]
}

/** GET /api/recorded?at=: what is not known of a moment. */
export interface RecordedAnswer {
  readonly gaps: readonly RecordedGap[]
}

/** GET /api/life?cluster=&kind=&name=[&from=&to=]: what was recorded of an object and of what belongs to it. */
export interface LifeAnswer {
  readonly cluster: string
  readonly kind: string
  readonly name: string
  readonly from: Stamp
  readonly to: Stamp
  readonly lanes: readonly LifeLane[]
  readonly gaps: readonly RecordedGap[]
  /** When a person or a program changed something. */
  readonly marks: readonly Stamp[]
  /** What happened, the newest last. */
  readonly lines: readonly LifeLine[]
  /** Earlier lines that are left out. */
  readonly cut: number
  /** The equivalent terminal command. */
  readonly command: string
}

export interface LifeLane {
  readonly name: string
  /** Each lasts until the next one; the last until the end. */
  readonly states: readonly {
    readonly from: Stamp
    readonly state: 'Good' | 'Bad' | 'Busy' | 'Unknown' | 'Absent'
    readonly text: string
  }[]
}

export interface LifeLine {
  readonly at: Stamp
  readonly text: string
  readonly tone: 'Bad' | 'Good' | 'Dim' | 'Strong' | 'Plain'
}

// ---------------------------------------------------------------- writes: POST, application/json, same origin only

/** POST /api/hold. `until` is limited as on the command line. */
export interface HoldRequest {
  readonly cluster: string
  readonly effect: 'Pause' | 'Freeze' | 'Pin' | 'Retry' | 'Abort' | 'Unprotect' | 'AllowEdit' | 'Promote'
  readonly target: { readonly kind: string; readonly name: string; readonly namespace?: string }
  /** The revision, digest or stage, for effects that need one. */
  readonly to?: string
  readonly reason: string
  readonly until: Stamp
}

/** POST /api/lift: ends a Hold early. */
export interface LiftRequest {
  readonly cluster: string
  readonly name: string
}

/** POST /api/approval: for exactly one digest that the object requests. */
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
  /** The equivalent terminal command. */
  readonly command: string
  /** Groups for which it does not count, and whose approval is required. */
  readonly warnings?: readonly string[]
}

/** The body of every non-2xx response. */
export interface Refusal {
  readonly code: string
  readonly message: string
}
