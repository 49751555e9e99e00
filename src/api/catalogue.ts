// Every condition type and reason that this project writes, each once, with its documentation and runbook. A status may use nothing else; the type checker
// enforces it for controllers.

/** Files in docs/operations/runbooks, without extension. A runbook covers a group of reasons with the same handling. */
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
  'maintenance',
  'clusters',
  'sync',
  'releases',
  'invalid-spec',
] as const
export type Runbook = (typeof RUNBOOKS)[number]

/** What no status says: Prometheus alone sees it over time, or on the host. */
export const ALERT_RUNBOOKS = ['service-levels', 'hosts'] as const

export const runbookPath = (r: Runbook | (typeof ALERT_RUNBOOKS)[number]): string => `docs/operations/runbooks/${r}.md`

interface ConditionEntry {
  readonly doc: string
  /** The status that means all is well. */
  readonly good: 'True' | 'False'
  readonly runbook: Runbook
}

const entry = (doc: string, good: ConditionEntry['good'], runbook: Runbook): ConditionEntry => ({ doc, good, runbook })

export const CONDITIONS = {
  Ready: entry('The object matches its spec and works.', 'True', 'progress'),
  Reconciling: entry('The object is being changed to match its spec.', 'False', 'progress'),
  Stalled: entry('Nothing further happens until a user changes something.', 'False', 'progress'),
  Paused: entry('An OperationalHold pauses changes to this object.', 'False', 'holds'),
  Frozen: entry('A file on the node prevents its agent from disrupting anything.', 'False', 'holds'),
  AgentReachable: entry('The agent renews its lease.', 'True', 'machine-lost'),
  NodeReady: entry('The Ready condition of the Node, as last observed.', 'True', 'machine-lost'),
  ComponentsConsistent: entry(
    'Every component on the node is as installed: no file or unit was modified by others.',
    'True',
    'components',
  ),
  TrustRefused: entry('The agent refused the newest trust document and keeps the previous one.', 'False', 'components'),
  InfrastructureReady: entry('The provider reports that the machine exists and runs.', 'True', 'infrastructure'),
  Joined: entry('The agent has its certificate and reports.', 'True', 'join'),
  CertificateExpiring: entry(
    "The certificate of the machine's agent was not renewed in time, and expires or has expired.",
    'False',
    'join',
  ),
  TokenExpiring: entry(
    "The token of the machine's agent, a service account, was not replaced in time; without another one the agent is silent.",
    'False',
    'join',
  ),
  Cordoned: entry('At least one owner cordons the node.', 'False', 'waiting'),
  Drained: entry('No pod that has to move is left on the node.', 'True', 'waiting'),
  Available: entry('Enough machines of the set are Ready.', 'True', 'rollout'),
  ScalingFrozen: entry('No machine is created or removed until the cause is resolved.', 'False', 'rollout'),
  RolledOut: entry(
    'Every machine that the selector matches and that counts runs the update revision.',
    'True',
    'rollout',
  ),
  RevisionBlocked: entry('The declared revision failed and is not retried.', 'False', 'rollout'),
  Conflicting: entry(
    'Another object of the same priority requires different versions for the same machines.',
    'False',
    'rollout',
  ),
  RuleActive: entry('The rule compiled and is being evaluated.', 'True', 'rules'),
  Inhibited: entry('Repairs are suspended because a change is blamed for the faults.', 'False', 'repairs'),
  LimitReached: entry('A limit of the rule blocks further repairs for now.', 'False', 'repairs'),
  PermitGranted: entry('The Defender granted the disruption that this object needs.', 'True', 'permits'),
  FaultCleared: entry('The fault that opened the incident is cleared and has not returned.', 'True', 'repairs'),
  BreakerOpen: entry('Too many operations failed; only recoveries are granted.', 'False', 'permits'),
  Enforced: entry('The policy is valid and enforced.', 'True', 'permits'),
  Fetched: entry('The commit of the source was fetched.', 'True', 'sync'),
  SourceVerified: entry('The commits of the branch are signed as spec.verify requires.', 'True', 'sync'),
  Rendered: entry('The commit was rendered to objects.', 'True', 'sync'),
  Applied: entry('The objects of the commit were applied.', 'True', 'sync'),
  Drifted: entry('An object differs from its declaration and is not corrected automatically.', 'False', 'sync'),
  UncommittedChange: entry('The spec was edited and differs from git.', 'False', 'sync'),
  PruneBlocked: entry('The commit deletes more objects than the guard allows.', 'False', 'sync'),
  GatesPassed: entry('Every gate of the stage passes.', 'True', 'releases'),
  Expiring: entry('Four fifths of the time to live are over, or all of it.', 'False', 'clusters'),
  SnapshotsCurrent: entry('A snapshot of the schedule was taken and opened in time.', 'True', 'clusters'),
  ProgramsReady: entry('Controllers, approver and Defender of the cluster run.', 'True', 'clusters'),
  Superseded: entry('A newer object replaced this one.', 'False', 'releases'),
} as const satisfies Readonly<Record<string, ConditionEntry>>

export type ConditionType = keyof typeof CONDITIONS

interface ReasonEntry {
  readonly doc: string
  readonly runbook: Runbook
}

const because = (runbook: Runbook, doc: string): ReasonEntry => ({ doc, runbook })

export const REASONS = {
  // progress
  AsDeclared: because('progress', 'Actual state equals the declared state.'),
  Progressing: because('progress', 'The change is in progress; the message names the current step.'),
  ProgressDeadlineExceeded: because('progress', 'No progress within the progress deadline.'),
  Deleting: because('progress', 'The object is being deleted and its finalizers run.'),
  NotYetObserved: because('progress', 'The controller has not reconciled this object yet.'),
  ReconcileFailed: because('progress', 'The last attempt failed; it is retried with backoff.'),
  // waiting
  WaitingForDrain: because('waiting', 'Pods that have to move are still on the node; the message names the first.'),
  WaitingForWindow: because('waiting', 'No maintenance window is open.'),
  WaitingForOther: because('waiting', 'Another object must be ready first.'),
  SafetyReadingUnknown: because('waiting', 'A reading that is required before a disruption is missing or stale.'),
  CordonedByUs: because('waiting', 'KubeNode cordoned the node; the annotation names the owner.'),
  CordonedByPeople: because('waiting', 'A user set spec.unschedulable; KubeNode does not change it.'),
  // maintenance
  MaintenancePlanned: because('maintenance', 'The host is to be worked on; the preparation starts in time.'),
  MaintenancePrepared: because('maintenance', 'The node is drained for work on its host, or is about to be.'),
  MaintenanceUnderWay: because('maintenance', 'The host is being worked on; repairs of the node stand off.'),
  MassReclaim: because(
    'maintenance',
    'So many machines report at once that their hosts are being reclaimed that the reports are not believed; no node is drained for them.',
  ),
  MaintenanceMissed: because('maintenance', 'The work on the host began before the node was drained.'),
  MaintenanceOverrun: because(
    'maintenance',
    'Work is not over at the end that people planned, or a day after a provider began it or should have.',
  ),
  MaintenanceEnded: because(
    'maintenance',
    'The work on the host is over or was called off, by the user that is named.',
  ),
  MaintenanceFailed: because('maintenance', 'The machine is not well again after the work on its host.'),
  // permits
  PermitRequested: because('permits', 'The Defender has not decided yet.'),
  PermitGranted: because('permits', 'The Defender granted the permit.'),
  PermitDenied: because('permits', 'The Defender denied the permit; the verdicts name the gate.'),
  PermitExpired: because('permits', 'The lease of the permit expired before the operation finished.'),
  PermitRevoked: because('permits', 'The Defender revoked the permit.'),
  BudgetExhausted: because('permits', 'The budget is used up by unavailable targets and running operations.'),
  RateExceeded: because('permits', 'The rate limit for this window is used up.'),
  Protected: because('permits', 'The target is protected.'),
  BlackoutActive: because('permits', 'A blackout forbids disruption at this time.'),
  OutsideWindow: because('permits', 'The policy grants permits only within its windows.'),
  BreakerOpen: because('permits', 'Too many recent operations failed.'),
  BreakerHalfOpen: because('permits', 'A few operations are tried after the breaker was open.'),
  BreakerClosed: because('permits', 'Recent operations succeeded.'),
  HealthFloor: because('permits', 'The operation would leave fewer healthy targets than the floor requires.'),
  ApprovalMissing: because('permits', 'An approval is missing.'),
  PolicyRuleDenied: because('permits', 'A rule of the policy forbids it.'),
  LedgerFull: because('permits', 'The ledger has reached its maximum number of grants.'),
  UnknownTarget: because('permits', 'The Defender cannot find the target or its domains.'),
  RecoveryExempt: because('permits', 'A recovery is exempt from this gate.'),
  SilenceIsTheFault: because('permits', 'Agent and kubelet are silent, and the repair is for exactly this fault.'),
  // holds
  HoldPause: because('holds', 'A Pause hold names this object.'),
  ExemptRevert: because(
    'holds',
    'A hold names this object; a revert is exempt from it by the pipeline as it was before the reverted commit.',
  ),
  HoldFreeze: because('holds', 'A Freeze hold covers this object, or a file on the node does.'),
  HoldAbort: because('holds', 'An Abort hold ended the operation.'),
  HoldAllowEdit: because('holds', 'An AllowEdit hold permits content that git does not declare.'),
  // rollout
  StepOpen: because('rollout', 'Slices of a step are being switched.'),
  Soaking: because('rollout', 'The step is done and is watched for the soak time.'),
  InspectionFailed: because('rollout', 'An inspection of the step failed.'),
  TooManyFailures: because('rollout', 'More machines failed than maxFailures allows.'),
  RevisionFailed: because('rollout', 'The revision failed before and is blocked.'),
  AllUpdated: because('rollout', 'Every machine that counts is updated.'),
  NoMachines: because('rollout', 'The selector matches no machine.'),
  SetConflict: because('rollout', 'Two sets of equal priority claim the same component.'),
  OvershootFreeze: because('rollout', 'More machines exist than replicas and surge allow; none is created.'),
  ZoneOutage: because(
    'rollout',
    'A large share of a failure domain is silent at once, which is treated as a network problem.',
  ),
  HostsGone: because('rollout', 'The provider no longer knows a large share of the machines; none is replaced.'),
  ActionRefused: because('rollout', 'The API server does not accept a write; the message contains its answer.'),
  ReplicasShort: because('rollout', 'Fewer machines are Ready than declared.'),
  ReplicasReached: because('rollout', 'All declared machines are Ready.'),
  CanaryRunning: because('rollout', 'The canary is being rolled out or observed.'),
  CanaryPassed: because('rollout', 'The canary stayed healthy for its whole duration.'),
  CanaryFailed: because('rollout', 'More canary machines failed than allowed.'),
  CanaryPromoted: because('rollout', 'A commit promoted the version of the canary.'),
  // components
  ComponentMissing: because('components', 'A referenced MachineComponent does not exist.'),
  DigestMismatch: because('components', 'The downloaded bytes do not match the declared SHA-256.'),
  SignatureInvalid: because('components', 'No trusted key signed this component, or the trust document revokes it.'),
  TrustRefused: because(
    'components',
    'The newest trust document is not signed with the keys of the current one, or has expired.',
  ),
  FetchFailed: because('components', 'The artifact could not be downloaded from any of its URLs.'),
  InstallFailed: because(
    'components',
    'The installation or a hook failed; the message contains the last line of output.',
  ),
  ProbeFailed: because('components', 'A probe of the component fails.'),
  RolledBackByAgent: because('components', 'The agent rolled back to the previous version.'),
  RebootShared: because('components', 'The agent rolled back because another component that shared the reboot failed.'),
  Unreadable: because(
    'components',
    'What was installed, or what the machine booted, can no longer be read on the node, so its health is unknown.',
  ),
  CrashLooping: because(
    'components',
    'The process of the component exited or froze; the message has the cause and the last output.',
  ),
  Rebooting: because('components', 'The machine reboots for a component, and is silent until it is up again.'),
  FileChanged: because('components', 'A file or unit of the component was modified by another program or user.'),
  DriftPersists: because('components', 'The component was restored several times and modified again each time.'),
  RequirementUnmet: because('components', 'A required component is missing or outside the required version range.'),
  SkewRefused: because('components', 'The version is too far from the version of the API server.'),
  AllHealthy: because('components', 'All desired components are healthy.'),
  UnsupportedPlatform: because('components', 'No artifact matches the operating system and architecture.'),
  // join
  AcceptanceFailed: because('join', 'The node did not pass its acceptance; its startup taint stays.'),
  CertificateRequested: because('join', 'A certificate request waits for approval.'),
  CertificateDenied: because('join', 'The approver denied the request; the message has the cause.'),
  CertificateExpiring: because('join', "The agent's certificate was not renewed in time."),
  TokenNotReplaced: because('join', 'The approver has not made the next token of the agent for too long.'),
  Importing: because('join', 'An existing node is being imported without restarts.'),
  JoinCommandMissing: because(
    'join',
    'The join command must be run on the existing host; the message shows how to get it.',
  ),
  AgentLeft: because('join', 'A person on the host made its agent leave; the Machine is still there.'),
  JoinExpired: because('join', 'The host never joined while its token was valid; the message has what makes another.'),
  ObservedOnly: because('join', 'The machine is only observed; KubeNode changes nothing on it.'),
  HostUnsuitable: because('join', 'The host lacks a requirement; the message names it.'),
  JoinComplete: because('join', 'The agent reports with its own certificate.'),
  // machine-lost
  LeaseExpired: because('machine-lost', "The agent's lease was not renewed."),
  LeaseRenewed: because('machine-lost', 'The agent renews its lease.'),
  NodeNotReady: because('machine-lost', 'The Node is not Ready.'),
  NodeMissing: because('machine-lost', 'No Node object belongs to this machine.'),
  NodeHealthy: because('machine-lost', 'The Node is Ready.'),
  // repairs
  JobRunning: because('repairs', 'A repair is running.'),
  StepFailed: because('repairs', 'A step of the repair failed.'),
  VerificationFailed: because('repairs', 'The fault returned after the repair.'),
  VerificationPassed: because('repairs', 'The fault did not return within the verification time.'),
  LadderExhausted: because('repairs', 'The last rung did not help; the node needs manual intervention.'),
  FleetStopped: because(
    'permits',
    'A version failed in several clusters, or a rule repaired too much: it is stopped in all clusters until a person lifts it on the hub.',
  ),
  FleetBudget: because('permits', 'As many clusters of the fleet change as its policy allows at once.'),
  CohortBlamed: because('repairs', 'Machines that share a change fail together; the change is blamed, not the nodes.'),
  PerNodeLimit: because('repairs', 'This node reached the limit of repairs that the rule allows.'),
  HourlyLimit: because('repairs', 'The rule reached its limit of repairs per hour.'),
  DailyLimit: because('repairs', 'The rule reached its limit of repairs per day.'),
  InFlightLimit: because('repairs', 'The rule reached its limit of concurrent repairs.'),
  Cooldown: because('repairs', 'The last repair of this node was too recent.'),
  WithinLimits: because('repairs', 'The rule is within its limits.'),
  // rules
  RuleInvalid: because(
    'rules',
    'The rule names an unknown fact, path or operator, or is malformed; the last valid revision stays active.',
  ),
  RuleCompiled: because('rules', 'The rule is valid and active.'),
  DryRunOnly: because('rules', 'The rule creates jobs that end before they request a permit.'),
  ShadowOnly: because('rules', 'The rule only counts.'),
  // infrastructure
  ProviderError: because(
    'infrastructure',
    'The provider rejected the request or failed; the message contains its answer.',
  ),
  ProviderThrottled: because('infrastructure', 'The provider asks to be called less often.'),
  OfferingsExhausted: because(
    'infrastructure',
    'The provider has no hosts left of any offering of the machine; the message names the time of the next request.',
  ),
  HostsTaken: because('infrastructure', 'Each host that the MachineSet lists has a Machine; more replicas are wanted.'),
  MachineExists: because('infrastructure', 'The machine exists and runs.'),
  MachineGone: because('infrastructure', 'The provider no longer knows the machine.'),
  HostStopped: because('infrastructure', 'The machine is powered off.'),
  // clusters
  ClusterAnswers: because('clusters', 'The API server answers, and accepts the kubeconfig.'),
  ApiServerDown: because('clusters', 'The API server does not answer.'),
  CredentialsInvalid: because(
    'clusters',
    'The kubeconfig was rejected by the cluster, or requires something that KubeNode does not run.',
  ),
  ServerCertificateExpired: because(
    'clusters',
    'The API server of the cluster shows a certificate that has expired; the kubeconfig is not the cause.',
  ),
  ClusterOffline: because('clusters', 'The cluster did not answer for longer than the deadline.'),
  ControlPlaneChanging: because(
    'clusters',
    'The control plane is being changed, step by step; the message names the step and what it waits for.',
  ),
  ControlPlaneStarting: because('clusters', 'The control plane is being started; the message has what was seen.'),
  HostUnreachable: because(
    'clusters',
    'The host of control planes does not answer; control planes continue without it.',
  ),
  HostFull: because('clusters', 'The host runs as many control planes as it can.'),
  EndpointTaken: because('clusters', 'The port of the control plane belongs to another one.'),
  StorageMissing: because('clusters', 'A volume of the control plane is not given; the message names its claim.'),
  QuotaFull: because('clusters', 'A ResourceQuota on the hub has no room for the control plane; the message names it.'),
  NamespaceTaken: because(
    'clusters',
    'The namespace of the control plane belongs to another Cluster, or was made by a person.',
  ),
  UpgradeRefused: because(
    'clusters',
    'Nothing of the upgrade was begun; the message lists everything that speaks against it.',
  ),
  VersionNotServed: because('clusters', 'The host does not serve the version; the message has those that it serves.'),
  FlavorNotServed: because('clusters', 'No host on this hub runs control planes of this flavor.'),
  RestoreUnderWay: because('clusters', 'A snapshot is being restored; what was committed since begins after it.'),
  QuorumLost: because(
    'clusters',
    'Too few members of the etcd of the control plane have served for ten minutes: nothing can be written. Nothing is restored without a commit.',
  ),
  MemberLost: because(
    'clusters',
    'A member of the etcd of the control plane lost its volume while all others serve. It is replaced with a permit of the Defender; the message has what was seen.',
  ),
  EtcdFull: because(
    'clusters',
    'The etcd of the control plane is as large as its quota and takes no writes: nothing begins but what makes room, and the message has the sizes.',
  ),
  SnapshotVerified: because('clusters', 'A snapshot was taken and opened in time, or the first one is not due yet.'),
  SnapshotOverdue: because(
    'clusters',
    'For longer than twice the interval of the schedule no snapshot was taken and opened; the message has the reason.',
  ),
  RotationUnderWay: because(
    'clusters',
    'An authority or key set is being replaced, and the cluster keeps working; the message has the phase and who must follow.',
  ),
  SnapshotMissing: because('clusters', 'The snapshot to restore does not exist, or is damaged.'),
  ProgramsLead: because('clusters', 'Each of the programs of the cluster has a leader in it.'),
  ProgramsMissing: because('clusters', 'A program of the cluster has no leader in it.'),
  ProgramsMoving: because(
    'clusters',
    'The programs of the cluster go from the hub into it, or back; they keep running on one side until the other side is ready.',
  ),
  ImageNotPulled: because(
    'clusters',
    'The nodes of the cluster cannot pull the image of its programs; the message has the answer of the kubelet, and names Secrets for pulling that do not exist.',
  ),
  ProgramsNotServed: because('clusters', 'This hub runs no programs for its Clusters.'),
  SecretTaken: because('clusters', 'The Secret for the kubeconfig exists and was made for something else.'),
  AddonFailed: because(
    'clusters',
    'An object that every cluster gets from the hub was not applied; the message names it and has the answer of the API server.',
  ),
  StillDeclared: because(
    'clusters',
    'The cluster was deleted by hand while git declares it: nothing of it is removed until git no longer does, or a person lifts its protection.',
  ),
  MachinesRemain: because('clusters', 'The cluster is being deleted and still has machines.'),
  LifetimeRunning: because('clusters', 'The time to live is not over soon.'),
  LifetimeEnding: because('clusters', 'Four fifths of the time to live are over; the message has its end.'),
  LifetimeOver: because(
    'clusters',
    'The time to live is over: the control plane is stopped, and deleted if git does not declare it.',
  ),
  CreationLimit: because(
    'clusters',
    'As many Clusters are being created as a policy allows at once; older ones come first.',
  ),
  EphemeralLimit: because('clusters', 'As many Clusters with a time to live exist as a policy allows at once.'),
  // sync
  FetchError: because('sync', 'The repository cannot be read.'),
  RefMissing: because('sync', 'The repository no longer has the branch or tag; the message names what it has instead.'),
  ShallowRepository: because('sync', 'The repository lacks the history of its commits.'),
  RepositoryTooLarge: because('sync', 'The copy of the repository, or all copies together, would exceed their bound.'),
  CommitVerified: because('sync', 'The commit is signed as the source requires.'),
  VerificationOff: because('sync', 'The source follows unsigned commits.'),
  VerificationRunning: because('sync', 'Many commits are verified, some in each pass.'),
  UnverifiedCommit: because(
    'sync',
    'A commit is not signed by a signer who may make it; the message names commit, key and rule.',
  ),
  HistoryRewritten: because('sync', 'The branch no longer contains the commit that was followed before.'),
  ApprovalsMissing: because('sync', 'The commit changes something that more than one person must agree to.'),
  PlanExceeded: because('sync', 'The commit does something else than the plan that its message names.'),
  RenderFailed: because('sync', 'The fleet code failed; the message contains its error.'),
  RenderUnavailable: because(
    'sync',
    'The fleet code could not be run; the commit is not the cause, and the message names it.',
  ),
  ApplyFailed: because('sync', 'Some objects were rejected; the message names the first.'),
  PruneGuard: because('sync', 'The commit deletes more than the guard allows; approve the digest of the deletions.'),
  StillReferenced: because('sync', 'The object is still referenced.'),
  DriftDetected: because('sync', 'Objects differ from the applied state.'),
  DriftUnchecked: because('sync', 'Objects are not compared with what was released.'),
  UncommittedChange: because(
    'sync',
    'An object that git declares was edited; the edit has no effect unless it is allowed.',
  ),
  UpToDate: because('sync', 'The newest commit is applied to all its clusters.'),
  // releases
  StageWaiting: because('releases', 'An earlier stage is not done.'),
  GateClosed: because('releases', 'A gate does not pass; the message has the observed value.'),
  GateFailed: because('releases', 'A gate did not pass within its timeout; the message has the last observed value.'),
  MinSuccessTime: because('releases', 'The stage is healthy, but its minimum success time is not over yet.'),
  StageFailed: because('releases', 'More clusters failed than the stage allows.'),
  RevertedBefore: because('releases', 'The same objects failed before, and a commit reverted them.'),
  NewerRelease: because('releases', 'A newer commit replaced this release.'),
  ReleaseComplete: because('releases', 'Every stage is done.'),
  ConcurrencyLimit: because('releases', 'The stage already changes the maximum number of clusters at once.'),
  // invalid-spec
  InvalidSpec: because('invalid-spec', 'The spec is invalid; the message names the field.'),
  ReferenceMissing: because('invalid-spec', 'An object that the spec references does not exist.'),
  UnsupportedField: because('invalid-spec', 'This version of the controller does not support a field.'),
} as const satisfies Readonly<Record<string, ReasonEntry>>

export type Reason = keyof typeof REASONS

/** Whether a word from elsewhere, such as an agent of another version, is one of these. */
export const isReason = (word: string | undefined): word is Reason => word !== undefined && Object.hasOwn(REASONS, word)
