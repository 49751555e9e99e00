// Every phase, condition type and reason that this project writes, each once, with a sentence of documentation and its runbook.
// A status may use nothing that is not listed here; the type checker holds controllers to it.

/** Files under docs/runbooks, without the ending. A runbook serves a group of reasons that are handled the same way. */
export const RUNBOOKS = [
  'progress',
  'waiting',
  'permits',
  'holds',
  'rollout',
  'components',
  'join',
  'machine-lost',
  'repairs',
  'rules',
  'infrastructure',
  'clusters',
  'sync',
  'releases',
  'invalid-spec',
] as const
export type Runbook = (typeof RUNBOOKS)[number]

export const runbookPath = (r: Runbook): string => `docs/runbooks/${r}.md`

interface ConditionEntry {
  readonly doc: string
  /** What `True` means for somebody on call. */
  readonly good: 'True' | 'False'
  readonly runbook: Runbook
}

const entry = (doc: string, good: ConditionEntry['good'], runbook: Runbook): ConditionEntry => ({ doc, good, runbook })

export const CONDITIONS = {
  Ready: entry('The object is as its spec says and does its work.', 'True', 'progress'),
  Reconciling: entry('Something is being done towards the spec right now.', 'False', 'progress'),
  Stalled: entry('Nothing further will happen until a person changes something.', 'False', 'progress'),
  Paused: entry('An OperationalHold keeps this object as it is.', 'False', 'holds'),
  Frozen: entry('A file on the node forbids its agent every disruption.', 'False', 'holds'),
  AgentReachable: entry("The agent's lease is being renewed.", 'True', 'machine-lost'),
  NodeReady: entry("The Node's own Ready condition, as last seen.", 'True', 'machine-lost'),
  ComponentsHealthy: entry('Every desired component is at its version and passes its probes.', 'True', 'components'),
  ComponentsConsistent: entry(
    'What runs on the node is what was installed: no file or unit was changed by others.',
    'True',
    'components',
  ),
  TrustRefused: entry(
    'The newest trust document is refused by the agent, which keeps obeying the one before it.',
    'False',
    'components',
  ),
  InfrastructureReady: entry('The provider says that the machine exists and runs.', 'True', 'infrastructure'),
  Joined: entry('The agent has its certificate and reports.', 'True', 'join'),
  Cordoned: entry('At least one owner keeps new pods off the node.', 'False', 'waiting'),
  Drained: entry('No pod that must move is left on the node.', 'True', 'waiting'),
  Available: entry('Enough machines of the set are Ready.', 'True', 'rollout'),
  ScalingFrozen: entry('No machine is made or removed until the cause is gone.', 'False', 'rollout'),
  RolledOut: entry('Every machine of the selector that counts is on the update revision.', 'True', 'rollout'),
  RevisionBlocked: entry('The declared revision failed and is not tried again.', 'False', 'rollout'),
  Conflicting: entry(
    'Another object of the same priority wants other versions for the same machines.',
    'False',
    'rollout',
  ),
  PruneDeferred: entry('Still referenced, so it is kept although git no longer has it.', 'False', 'sync'),
  Verified: entry('Signature and digests were checked and hold.', 'True', 'components'),
  RuleActive: entry('The rule compiled and is being asked.', 'True', 'rules'),
  Inhibited: entry('Repairs are held back because a change is blamed for the faults.', 'False', 'repairs'),
  LimitReached: entry('A limit of the rule refuses further repairs for now.', 'False', 'repairs'),
  PermitGranted: entry('The Defender granted the disruption that this needs.', 'True', 'permits'),
  FaultCleared: entry('The fault that opened the incident is gone and stayed away.', 'True', 'repairs'),
  BreakerOpen: entry('Too many operations failed; only recoveries are granted.', 'False', 'permits'),
  Enforced: entry('The policy is understood and decides.', 'True', 'permits'),
  ControlPlaneReady: entry('The API server of the cluster answers and its parts are healthy.', 'True', 'clusters'),
  EtcdHealthy: entry('A majority of the store of the control plane answers.', 'True', 'clusters'),
  AddonsReady: entry('Every addon is applied and healthy.', 'True', 'clusters'),
  Reachable: entry('The cluster answered the last request.', 'True', 'clusters'),
  Fetched: entry('The commit of the source is here and its signature was checked.', 'True', 'sync'),
  Rendered: entry('The commit was rendered to objects.', 'True', 'sync'),
  Applied: entry('The objects of the commit were applied.', 'True', 'sync'),
  Drifted: entry('Something differs from what was declared, and it is not corrected by itself.', 'False', 'sync'),
  UncommittedChange: entry('The spec was edited and is not what git declares.', 'False', 'sync'),
  PruneBlocked: entry('The list of objects to delete is larger than the guard allows.', 'False', 'sync'),
  GatesPassed: entry('Every gate of the stage holds.', 'True', 'releases'),
  Superseded: entry('A newer object took the place of this one.', 'False', 'releases'),
} as const satisfies Readonly<Record<string, ConditionEntry>>

export type ConditionType = keyof typeof CONDITIONS

interface ReasonEntry {
  readonly doc: string
  readonly runbook: Runbook
}

const because = (runbook: Runbook, doc: string): ReasonEntry => ({ doc, runbook })

export const REASONS = {
  // progress
  AsDeclared: because('progress', 'What was seen equals what was declared.'),
  Progressing: because('progress', 'Steps are being taken; the message names the current one.'),
  ProgressDeadlineExceeded: because('progress', 'No step forward within the progress deadline.'),
  Deleting: because('progress', 'The object is being deleted and its finalizers are at work.'),
  NotYetObserved: because('progress', 'The controller has not looked at this object yet.'),
  ReconcileFailed: because('progress', 'The last attempt failed; it is retried with backoff.'),
  // waiting
  WaitingForDrain: because('waiting', 'Pods that must move are still on the node; the message names the first.'),
  DrainBlocked: because('waiting', 'A disruption budget or a pod refuses to go within the drain timeout.'),
  WaitingForWindow: because('waiting', 'No maintenance window is open.'),
  WaitingForOther: because('waiting', 'Another object has to be ready first.'),
  SafetyReadingUnknown: because('waiting', 'A reading that must be known before a disruption is missing or stale.'),
  CordonedByUs: because('waiting', 'An owner of ours keeps the cordon; the annotation names it.'),
  CordonedByPeople: because('waiting', 'Somebody set spec.unschedulable; we do not touch it.'),
  // permits
  PermitRequested: because('permits', 'The Defender has not decided yet.'),
  PermitGranted: because('permits', 'The Defender granted it.'),
  PermitDenied: because('permits', 'The Defender refused; the verdicts say which gate.'),
  PermitExpired: because('permits', 'The lease of the permit ran out before the work was done.'),
  PermitRevoked: because('permits', 'The Defender took the permit back.'),
  BudgetExhausted: because('permits', 'As many operations run as the budget allows.'),
  RateExceeded: because('permits', 'As many operations were granted in the window as the rate allows.'),
  Protected: because('permits', 'The target is protected.'),
  BlackoutActive: because('permits', 'A blackout forbids disruption now.'),
  OutsideWindow: because('permits', 'The policy grants only within its windows.'),
  BreakerOpen: because('permits', 'Too many recent operations failed.'),
  BreakerHalfOpen: because('permits', 'A few operations are tried after the breaker was open.'),
  BreakerClosed: because('permits', 'Recent operations succeeded.'),
  HealthFloor: because('permits', 'Fewer targets than the floor demands would be left healthy.'),
  ApprovalMissing: because('permits', 'Somebody has to approve the digest first.'),
  PolicyRuleDenied: because('permits', 'A rule of the policy forbids it.'),
  LedgerFull: because('permits', 'The ledger holds as many grants as it may.'),
  UnknownTarget: because('permits', 'The Defender cannot find the target or its domains.'),
  RecoveryExempt: because('permits', 'A recovery costs nothing in this gate.'),
  SilenceIsTheFault: because(
    'permits',
    'Neither agent nor kubelet is heard of, and that very silence is what the repair is for.',
  ),
  // holds
  HoldPause: because('holds', 'A Pause hold names this object.'),
  HoldFreeze: because('holds', 'A Freeze hold covers this object, or a file on the node does.'),
  HoldPin: because('holds', 'A Pin hold keeps it on a revision.'),
  HoldAbort: because('holds', 'An Abort hold ended it.'),
  HoldRetry: because('holds', 'A Retry hold lets a blocked revision be tried again.'),
  HoldAllowEdit: because('holds', 'An AllowEdit hold lets content act that git does not declare.'),
  HoldExpired: because('holds', 'The end of the hold has passed; it has no effect any more.'),
  HoldActive: because('holds', 'The hold is in effect.'),
  // rollout
  StepOpen: because('rollout', 'Slices of a step are being switched.'),
  Soaking: because('rollout', 'The step is done and is watched for the soak time.'),
  InspectionFailed: because('rollout', 'An inspection of the step does not hold.'),
  TooManyFailures: because('rollout', 'More machines failed than maxFailures allows.'),
  RollingBack: because('rollout', 'Machines go back to the last healthy revision.'),
  RevisionFailed: because('rollout', 'The revision failed earlier and is blocked.'),
  AllUpdated: because('rollout', 'Every machine that counts is updated.'),
  NoMachines: because('rollout', 'The selector matches no machine.'),
  SetConflict: because('rollout', 'Two sets of equal priority want the same component.'),
  OvershootFreeze: because('rollout', 'More machines exist than replicas and surge allow; making more is frozen.'),
  ZoneOutage: because('rollout', 'A large share of a domain is silent at once; treated as a network problem.'),
  HostsGone: because('rollout', 'The provider does not know a large share of the machines any more; none is replaced.'),
  ActionRefused: because('rollout', 'The API server refuses what has to be done; the message has its words.'),
  ReplicasShort: because('rollout', 'Fewer machines are Ready than declared.'),
  ReplicasReached: because('rollout', 'As many machines are Ready as declared.'),
  CanaryRunning: because('rollout', 'The canary marks machines and watches them.'),
  CanaryPassed: because('rollout', 'The canary stayed healthy for its whole duration.'),
  CanaryFailed: because('rollout', 'More canary machines failed than allowed.'),
  CanaryPromoted: because('rollout', 'A commit gave the set the version of the canary.'),
  // components
  ComponentMissing: because('components', 'A MachineComponent that is referenced does not exist.'),
  DigestMismatch: because('components', 'Bytes differ from the declared SHA-256.'),
  SignatureInvalid: because('components', 'No trusted key signed this, or the trust document forbids it.'),
  TrustRefused: because(
    'components',
    'The newest trust document is not signed by the keys of the one in force, or expired.',
  ),
  FetchFailed: because('components', 'The artifact could not be fetched from any of its places.'),
  InstallFailed: because('components', 'Installing or a hook failed; the message has the last line.'),
  ProbeFailed: because('components', 'A probe of the component does not pass.'),
  RolledBackByAgent: because('components', 'The agent went back to the version before by itself.'),
  CrashLooping: because(
    'components',
    'The process of the component ended or froze by itself; the message has how, and its last output.',
  ),
  FileChanged: because('components', 'A file or unit of the component was changed by somebody else.'),
  DriftPersists: because('components', 'What was installed is changed again after every fresh copy.'),
  RequirementUnmet: because('components', 'Another component is missing or outside the required range.'),
  SkewRefused: because('components', 'The version is too far from that of the API server.'),
  AllHealthy: because('components', 'All desired components are healthy.'),
  UnsupportedPlatform: because('components', 'No artifact fits the operating system and architecture.'),
  // join
  TokenExpired: because('join', 'The join token ran out before it was used.'),
  CertificateRequested: because('join', 'A certificate request waits for approval.'),
  CertificateDenied: because('join', 'The approver refused the request; the message says why.'),
  CertificateExpiring: because('join', "The agent's certificate was not renewed in time."),
  Importing: because('join', 'An existing node is being taken over without restarts.'),
  JoinCommandMissing: because('join', 'An existing host has to run its join command; the message says how to get it.'),
  ObservedOnly: because('join', 'The machine is only looked at; nothing of it is changed.'),
  HostUnsuitable: because('join', 'The host lacks something that is needed; the message names it.'),
  JoinComplete: because('join', 'The agent reports with its own certificate.'),
  // machine-lost
  LeaseExpired: because('machine-lost', "The agent's lease was not renewed."),
  LeaseRenewed: because('machine-lost', "The agent's lease is fresh."),
  NodeNotReady: because('machine-lost', 'The Node says that it is not Ready.'),
  NodeMissing: because('machine-lost', 'No Node object belongs to this machine.'),
  NodeHealthy: because('machine-lost', 'The Node says that it is Ready.'),
  // repairs
  JobRunning: because('repairs', 'A repair runs.'),
  StepFailed: because('repairs', 'A step of the repair failed.'),
  VerificationFailed: because('repairs', 'The fault did not stay away after the repair.'),
  VerificationPassed: because('repairs', 'The fault stayed away long enough.'),
  LadderExhausted: because('repairs', 'The last rung did not help; a person has to look.'),
  CohortBlamed: because('repairs', 'Machines that share a change fail together; the change is blamed, not the nodes.'),
  PerNodeLimit: because('repairs', 'This node was repaired as often as the rule allows.'),
  HourlyLimit: because('repairs', 'As many repairs ran in the last hour as the rule allows.'),
  DailyLimit: because('repairs', 'As many repairs ran in the last day as the rule allows.'),
  InFlightLimit: because('repairs', 'As many repairs run as the rule allows.'),
  Cooldown: because('repairs', 'The node was repaired a moment ago.'),
  FaultVanished: because('repairs', 'The fault went away before the repair started.'),
  WithinLimits: because('repairs', 'No limit of the rule binds.'),
  // rules
  RuleInvalid: because(
    'rules',
    'The rule names an unknown fact, path or operator, or is malformed; the last good one stays.',
  ),
  RuleCompiled: because('rules', 'The rule is in the registry.'),
  DryRunOnly: because('rules', 'The rule makes jobs that end before they ask for a permit.'),
  ShadowOnly: because('rules', 'The rule only counts.'),
  // infrastructure
  ProviderError: because('infrastructure', 'The provider refused or failed; the message has its answer.'),
  ProviderThrottled: because('infrastructure', 'The provider asks us to slow down.'),
  MachineExists: because('infrastructure', 'The provider knows the machine and it runs.'),
  MachineGone: because('infrastructure', 'The provider no longer knows the machine.'),
  HostStopped: because('infrastructure', 'The provider says that the machine is switched off.'),
  MaintenancePlanned: because('infrastructure', 'The provider announced maintenance of the host.'),
  // clusters
  ApiServerDown: because('clusters', 'The API server does not answer.'),
  CertificatesPending: because('clusters', 'Certificates of the control plane are being made.'),
  VersionUnsupported: because('clusters', 'The step between versions is not possible; nothing was started.'),
  SnapshotFailed: because('clusters', 'The snapshot before a one-way step failed; the step was not taken.'),
  QuorumLost: because('clusters', 'Too few members of the store answer.'),
  CredentialsInvalid: because('clusters', 'The kubeconfig is refused, or asks for something that we do not run.'),
  ClusterOffline: because('clusters', 'The cluster did not answer for longer than the deadline.'),
  AddonFailed: because('clusters', 'An addon cannot be applied or is not healthy.'),
  ClusterHealthy: because('clusters', 'All parts of the control plane are healthy.'),
  TtlExpired: because('clusters', 'The time to live is over; the cluster is being deleted.'),
  // sync
  FetchError: because('sync', 'The repository cannot be read.'),
  UnverifiedCommit: because('sync', 'The commit is not signed by an allowed signer.'),
  RenderFailed: because('sync', 'The code of the fleet failed; the message has its error.'),
  ApplyFailed: because('sync', 'Some objects were refused; the message names the first.'),
  ApplyConflict: because('sync', 'Another manager owns fields that the commit declares.'),
  PruneGuard: because('sync', 'Too many objects would be deleted; approve the digest of the list.'),
  StillReferenced: because('sync', 'Something still refers to the object.'),
  DriftDetected: because('sync', 'Objects differ from what was applied.'),
  UncommittedChange: because(
    'sync',
    'Somebody edited what git declares; the edit has no effect until it is put back or allowed.',
  ),
  UpToDate: because('sync', 'The newest commit is applied everywhere it should be.'),
  // releases
  StageWaiting: because('releases', 'An earlier stage is not done.'),
  GateClosed: because('releases', 'A gate does not hold; the message has the value seen.'),
  MinSuccessTime: because('releases', 'The stage is healthy but not yet for long enough.'),
  StageFailed: because('releases', 'More clusters failed than the stage allows.'),
  RevertPrepared: because('releases', 'A revert commit was made.'),
  NewerRelease: because('releases', 'A newer commit took over.'),
  ReleaseComplete: because('releases', 'Every stage is done.'),
  ConcurrencyLimit: because('releases', 'As many clusters are in progress as the stage allows.'),
  // invalid-spec
  InvalidSpec: because('invalid-spec', 'The spec cannot be used; the message names the field.'),
  NameMismatch: because('invalid-spec', 'The name of the object is not the one that its content demands.'),
  ReferenceMissing: because('invalid-spec', 'An object that the spec names does not exist.'),
  UnsupportedField: because('invalid-spec', 'The version of the controller does not know how to honour a field.'),
} as const satisfies Readonly<Record<string, ReasonEntry>>

export type Reason = keyof typeof REASONS

/** Whether a word that came from elsewhere, such as an agent of another age, is one of these. */
export const isReason = (word: string | undefined): word is Reason => word !== undefined && Object.hasOwn(REASONS, word)

export const PHASES = {
  Machine: {
    Pending: 'Declared; nothing was done yet.',
    Provisioning: 'The provider makes the machine.',
    Joining: 'The machine exists; its agent is not enrolled yet.',
    Importing: 'An existing node is being taken over.',
    Installing: 'Required components are being installed for the first time.',
    Ready: 'The node works and all its components are healthy.',
    NotReady: 'In service, but its agent, its node or a component is not well; the condition Ready has the cause.',
    Updating: 'A component is being switched.',
    Repairing: 'A repair job is at work.',
    Draining: 'Pods are being moved away.',
    Deleting: 'The machine is being taken out of service.',
    Failed: 'It cannot go on without a person.',
    Lost: 'Neither agent nor node has been heard of for too long.',
  },
  Component: {
    Fetching: 'The artifact is being fetched and verified; what keeps it from being accepted is in the message.',
    Staged: 'Everything is on the node; the switch waits for an order.',
    Switching: 'The version is being switched right now.',
    Probing: 'The new version runs and is watched for its settle time.',
    Healthy: 'The version runs and passes its probes.',
    Degraded: 'The version runs but fails a probe.',
    RolledBack: 'The new version failed; the one before runs again.',
    Failed: 'Neither the new nor the old version works.',
  },
  Wave: {
    Planned: 'The slice is chosen; its step is not open yet or a hold waits.',
    AwaitingPermit: 'The Defender was asked.',
    Switching: 'Machines of the slice are being switched.',
    Inspecting: 'All machines reported; the inspections of the step run.',
    Soaking: 'The inspections hold; the soak time runs.',
    Passed: 'The slice is done and counted as good.',
    Failed: 'Too many machines failed, or an inspection did not hold.',
    Aborted: 'Given up without blame: a hold, a newer revision, or a refused permit.',
  },
  Permit: {
    Requested: 'The Defender has not granted anything yet; the verdicts say what it waits for.',
    Granted: 'At least one target may be disrupted now.',
    Denied: 'Refused for good; ask again with another permit.',
    Released: 'All results are in; the slots are free.',
    Expired: 'The lease was not renewed; slots stay taken until the targets are seen healthy.',
    Revoked: 'Taken back by the Defender; slots stay taken until the targets are seen healthy.',
  },
  Slot: {
    Waiting: 'No slot was taken.',
    Held: 'The target may be disrupted and counts in every budget.',
    Orphaned: 'The permit ended without a result; the target still counts until seen healthy.',
    Freed: 'A result came in or the target was seen healthy; it counts no more.',
  },
  Order: {
    Absent: 'The agent shall not switch.',
    Present: 'The agent shall switch the named attempt under the named permit.',
  },
  Step: {
    Waiting: 'Its turn has not come.',
    Started: 'Written down as begun; it may be at work.',
    Succeeded: 'It did its work.',
    Failed: 'It failed.',
    Skipped: 'There was nothing to do.',
    Unknown: 'Its executor restarted and does not know how it ended.',
  },
  Job: {
    Pending: 'Made; its preconditions are checked.',
    AwaitingPermit: 'The Defender was asked.',
    Running: 'Steps are being done, one after the other.',
    Verifying: 'All steps are done; the fault has to stay away.',
    Done: 'Over; the outcome says how.',
  },
  Outcome: {
    Succeeded: 'The fault is gone and stayed away.',
    Escalated: 'The fault is still there; the next rung takes over.',
    Transient: 'It failed in a way that may pass; the same rung may be tried again.',
    Permanent: 'It failed in a way that trying again cannot help; a person has to look.',
    Superseded: 'The fault vanished before anything was done, or another job took over.',
    Cancelled: 'A hold or a person ended it.',
  },
  Canary: {
    Pending: 'Machines are not chosen yet.',
    Rolling: 'Chosen machines are being switched.',
    Observing: 'All chosen machines are on the version and are watched.',
    Passed: 'They stayed healthy; a commit may promote the version.',
    Promoted: 'The set declares the version; the marks are gone.',
    Lapsed: 'It passed, but nobody promoted it in time; the marks are gone.',
    Failed: 'Too many machines failed; the marks are gone.',
    Aborted: 'Ended by a hold or by its spec; the marks are gone.',
  },
  Cluster: {
    Pending: 'Declared; nothing was done yet.',
    Provisioning: 'The control plane is being made.',
    Installing: 'The control plane answers; addons are being applied.',
    Ready: 'The cluster works.',
    Updating: 'The control plane is going to another version.',
    Unreachable: 'The cluster does not answer.',
    Deleting: 'The cluster is being taken down.',
    Failed: 'It cannot go on without a person.',
  },
  Release: {
    Pending: 'Made; the first stage is not open yet.',
    Progressing: 'A stage is being worked on.',
    Paused: 'A stage failed or a hold stopped it.',
    Succeeded: 'Every stage is done.',
    Failed: 'It ended without success.',
    Reverted: 'A revert commit undoes it.',
    Superseded: 'A newer commit of the track took over.',
  },
  Stage: {
    Waiting: 'An earlier stage is not done, or a gate before it is closed.',
    Progressing: 'Clusters of the stage are being changed.',
    Soaking: 'All clusters are healthy; the minimum time runs.',
    Succeeded: 'The stage is done.',
    Failed: 'More clusters failed than the stage allows.',
    Skipped: 'Nothing in this stage changed.',
  },
  ClusterRelease: {
    Waiting: 'Its turn has not come.',
    Applying: 'Objects are being applied.',
    Verifying: 'Applied; health is watched.',
    Healthy: 'Applied and healthy.',
    Failed: 'Refused, or not healthy within the deadline.',
    Offline: 'The cluster did not answer; it is caught up later.',
    Unchanged: 'Its digest is the one it already has.',
  },
  Maintenance: {
    Scheduled: 'Announced; it has not begun.',
    Started: 'The provider works on the host.',
    Completed: 'The provider is done.',
    Cancelled: 'It will not happen.',
  },
  Set: {
    Pending: 'Declared; nothing was done yet.',
    Progressing: 'Machines are being made, removed or switched.',
    Complete: 'Everything is as declared.',
    Paused: 'A failure or a hold stopped it.',
    Blocked: 'The declared revision is blocked.',
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, string>>>>

export type PhaseTable = keyof typeof PHASES
export type Phase<T extends PhaseTable> = keyof (typeof PHASES)[T] & string

export const phaseNames = <T extends PhaseTable>(table: T): readonly Phase<T>[] =>
  Object.keys(PHASES[table]) as unknown as readonly Phase<T>[]
