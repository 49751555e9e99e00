// Who resolves a reason: time, a commit, or a user, and what that user types first. One row for each reason in the catalog. Pure.
import { isReason, type Reason } from '#api/catalogue.ts'
import { defined } from '#lib/defined.ts'
import { isForPeople, type WayOn } from './finding.ts'
import { endsInCommand, isTyped, unblockOf } from './unblock.ts'

/**
 * `Nobody`: nothing is wrong, or it has ended. `KubeNode`: it continues by itself. `Author`: a commit in git. `Operator`: a user at a host, a provider,
 * the network or a cluster.
 */
export type WayOut =
  | { readonly who: 'Nobody' | 'KubeNode' }
  | {
      readonly who: 'Author' | 'Operator'
      /** The action, after `a commit` or `a person`. */
      readonly does: string
      /** What to type first; `OBJECT` is the object as users type it, `NAME` only its name. Left out where the commit is all that helps. */
      readonly command?: string
    }

const nobody: WayOut = { who: 'Nobody' }
const itself: WayOut = { who: 'KubeNode' }
const author = (does: string, command?: string): WayOut => ({ who: 'Author', does, ...defined({ command }) })
const operator = (does: string, command: string): WayOut => ({ who: 'Operator', does, command })

const WHY = 'kubenode why OBJECT'
const DESCRIBE = 'kubenode describe OBJECT'
/** For a Cluster: its versions, snapshots and limits, and where its kubeconfig is. Statuses of other kinds have the same reasons. */
const CLUSTER = 'kubenode cluster show NAME'
const COMPONENTS = 'kubectl get machinecomponents.kubenode.io -o wide'

export const WAYS_OUT: Readonly<Record<Reason, WayOut>> = {
  AsDeclared: nobody,
  Progressing: itself,
  ProgressDeadlineExceeded: author('reverts the change or corrects it', WHY),
  Deleting: itself,
  NotYetObserved: itself,
  ReconcileFailed: itself,
  WaitingForDrain: itself,
  WaitingForWindow: itself,
  WaitingForOther: itself,
  SafetyReadingUnknown: itself,
  CordonedByUs: itself,
  CordonedByPeople: operator('lets the node take pods again', 'kubectl uncordon NAME'),
  MaintenancePlanned: itself,
  MaintenancePrepared: itself,
  MaintenanceUnderWay: itself,
  MassReclaim: operator('asks the provider whether it reclaims so many hosts', 'kubenode maintenance list'),
  MaintenanceMissed: itself,
  MaintenanceOverrun: operator('asks whether the work on the host is over', 'kubenode maintenance list'),
  MaintenanceEnded: nobody,
  MaintenanceFailed: operator('finds out why the machine is not well', WHY),
  PermitRequested: itself,
  PermitGranted: nobody,
  PermitDenied: itself,
  PermitExpired: itself,
  PermitRevoked: itself,
  BudgetExhausted: itself,
  RateExceeded: itself,
  Protected: operator('lifts the protection', 'kubenode unprotect OBJECT --reason WHY'),
  BlackoutActive: itself,
  OutsideWindow: itself,
  BreakerOpen: operator('checks the operations that failed', 'kubenode events'),
  BreakerHalfOpen: itself,
  BreakerClosed: nobody,
  HealthFloor: itself,
  ApprovalMissing: operator('approves it', 'kubenode approve OBJECT --reason WHY'),
  PolicyRuleDenied: author('changes the rule of the policy', 'kubectl get defenderpolicies.kubenode.io -o yaml'),
  LedgerFull: operator('checks the grants that do not end', 'kubectl get operationpermits.kubenode.io'),
  UnknownTarget: itself,
  RecoveryExempt: nobody,
  SilenceIsTheFault: nobody,
  HoldPause: operator('ends the hold', 'kubenode resume OBJECT'),
  ExemptRevert: nobody,
  HoldFreeze: operator('lifts the freeze', 'kubenode thaw OBJECT'),
  HoldAbort: operator('deletes the hold', 'kubectl get operationalholds.kubenode.io'),
  HoldAllowEdit: itself,
  StepOpen: itself,
  Soaking: itself,
  InspectionFailed: author('corrects or reverts the version', WHY),
  TooManyFailures: author('corrects or reverts the version', WHY),
  RevisionFailed: author('corrects or reverts the version', WHY),
  AllUpdated: nobody,
  NoMachines: author('corrects the selector, or machines get its labels', 'kubenode get machines --show-labels'),
  SetConflict: author('takes the component out of one of the sets', 'kubenode get sets'),
  OvershootFreeze: operator('finds out why machines are not removed', 'kubenode get machines'),
  ZoneOutage: operator('mends the network or the power there', 'kubenode get machines'),
  HostsGone: operator('asks the provider where the hosts are', 'kubenode get machines'),
  ActionRefused: operator('corrects RBAC, admission policies, webhooks or quotas', 'kubenode check'),
  ReplicasShort: itself,
  ReplicasReached: nobody,
  CanaryRunning: itself,
  CanaryPassed: author('promotes the version', 'kubenode canary promote NAME'),
  CanaryFailed: author('gives the canary another version', 'kubenode canary status NAME'),
  CanaryPromoted: nobody,
  ComponentMissing: author('adds the MachineComponent, or declares a version that exists', COMPONENTS),
  DigestMismatch: operator('puts the artifact with the declared digest at its URL', COMPONENTS),
  SignatureInvalid: operator('signs the component with a trusted key', DESCRIBE),
  TrustRefused: operator('signs the trust document with the keys of the current one', DESCRIBE),
  FetchFailed: operator('publishes the artifact at one of its URLs', COMPONENTS),
  InstallFailed: author('declares a version whose installation works', DESCRIBE),
  ProbeFailed: operator('reads the log of the component', DESCRIBE),
  RolledBackByAgent: author('corrects or reverts the version', DESCRIBE),
  RebootShared: author('corrects or reverts the other component; this one is tried again by itself', DESCRIBE),
  Unreadable: operator('checks the disk of the node, then retries the rollout', DESCRIBE),
  CrashLooping: operator('reads the last output of the component', DESCRIBE),
  Rebooting: itself,
  FileChanged: itself,
  DriftPersists: operator('ends the program that changes the file', 'kubenode events OBJECT'),
  RequirementUnmet: author('declares versions that fit together', DESCRIBE),
  SkewRefused: author('declares a version closer to that of the API server', DESCRIBE),
  AllHealthy: nobody,
  UnsupportedPlatform: author('adds an artifact for the platform, or narrows the selector', COMPONENTS),
  AcceptanceFailed: operator('repairs or replaces the machine', DESCRIBE),
  CertificateRequested: itself,
  CertificateDenied: operator('makes the host join again', 'kubenode machine readmit NAME --token'),
  CertificateExpiring: operator('finds out why the agent does not renew it', 'kubenode logs OBJECT'),
  TokenNotReplaced: operator('finds out why the approver makes no token', 'kubenode check'),
  Importing: itself,
  JoinCommandMissing: operator('runs the join command on the host', 'kubenode machine join-command NAME'),
  AgentLeft: operator('deletes the Machine, or lets the host join again', 'kubenode machine readmit NAME --token'),
  JoinExpired: operator('deletes the Machine, so that its set makes another one', WHY),
  ObservedOnly: nobody,
  HostUnsuitable: operator('gives the host what it lacks', DESCRIBE),
  JoinComplete: nobody,
  LeaseExpired: operator('starts the host or mends its network', WHY),
  LeaseRenewed: nobody,
  NodeNotReady: operator('checks the kubelet and the container runtime', 'kubenode why-not node/NAME'),
  NodeMissing: operator('restarts a kubelet that is no component', WHY),
  NodeHealthy: nobody,
  JobRunning: itself,
  StepFailed: operator('checks the step that failed', WHY),
  VerificationFailed: operator('checks the node', WHY),
  VerificationPassed: nobody,
  LadderExhausted: operator('repairs the node and has it tried again', 'kubenode repair OBJECT --reason WHY'),
  FleetStopped: operator('reverts what failed, or lifts the stop on the hub', 'kubenode brake lift --reason WHY'),
  FleetBudget: itself,
  CohortBlamed: author('reverts the change that is blamed', 'kubenode history'),
  PerNodeLimit: itself,
  HourlyLimit: itself,
  DailyLimit: itself,
  InFlightLimit: itself,
  Cooldown: itself,
  WithinLimits: nobody,
  RuleInvalid: author('corrects the rule', 'kubenode rules lint'),
  RuleCompiled: nobody,
  DryRunOnly: author('enforces the rule', 'kubenode rules enforce NAME'),
  ShadowOnly: author('enforces the rule', 'kubenode rules enforce NAME'),
  ProviderError: operator('corrects what the provider refuses, such as quota, credentials or image', WHY),
  ProviderThrottled: itself,
  OfferingsExhausted: itself,
  HostsTaken: author('lists more hosts in the MachineSet, or wants fewer replicas', WHY),
  MachineExists: nobody,
  MachineGone: itself,
  HostStopped: operator('powers the host on at its provider', WHY),
  ClusterAnswers: nobody,
  ApiServerDown: operator('starts the API server, or mends the network to it', CLUSTER),
  CredentialsInvalid: operator('puts a kubeconfig that works into the Secret', CLUSTER),
  ServerCertificateExpired: operator('renews the certificate of the API server', CLUSTER),
  ClusterOffline: operator('starts the API server, or mends the network to it', CLUSTER),
  ControlPlaneChanging: itself,
  ControlPlaneStarting: itself,
  HostUnreachable: operator('starts the host of control planes', CLUSTER),
  HostFull: operator('adds room to the host, or a commit deletes a Cluster', 'kubenode cluster list'),
  EndpointTaken: author('names another port', 'kubenode cluster list'),
  StorageMissing: operator('gives the claim its volume', 'kubectl get persistentvolumeclaims --all-namespaces'),
  QuotaFull: operator('raises the quota', 'kubectl get resourcequotas --all-namespaces'),
  NamespaceTaken: operator('deletes or renames the namespace', 'kubectl get namespaces'),
  UpgradeRefused: author('corrects what speaks against the upgrade', CLUSTER),
  VersionNotServed: author('names a version that the host serves'),
  FlavorNotServed: author('declares a new Cluster of a flavor that this hub serves'),
  RestoreUnderWay: itself,
  QuorumLost: operator('brings the members of etcd back', CLUSTER),
  MemberLost: itself,
  EtcdFull: operator('deletes objects that nothing needs', CLUSTER),
  SnapshotVerified: nobody,
  SnapshotOverdue: operator('finds out why no snapshot is taken', CLUSTER),
  RotationUnderWay: itself,
  SnapshotMissing: author('names a snapshot that exists', CLUSTER),
  ProgramsLead: nobody,
  ProgramsMissing: operator(
    'sees why the pods of kubenode-hosted-controllers, -approver and -defender do not run',
    CLUSTER,
  ),
  ProgramsMoving: itself,
  ImageNotPulled: operator('lets the nodes of the cluster pull the image', CLUSTER),
  ProgramsNotServed: author('sets spec.programs to None'),
  SecretTaken: operator('deletes the Secret that is in the way', CLUSTER),
  AddonFailed: author('corrects the object', CLUSTER),
  StillDeclared: author('no longer declares the cluster', 'kubenode unprotect OBJECT --reason WHY'),
  MachinesRemain: itself,
  LifetimeRunning: nobody,
  LifetimeEnding: operator('keeps the cluster longer', 'kubenode cluster extend NAME --for 2h --reason WHY'),
  LifetimeOver: operator('starts the cluster again', 'kubenode cluster extend NAME --for 2h --reason WHY'),
  CreationLimit: itself,
  EphemeralLimit: itself,
  FetchError: operator('makes the repository readable', WHY),
  RefMissing: author('puts the branch back, or spec.ref names another one', WHY),
  ShallowRepository: operator('fetches the whole history', WHY),
  RepositoryTooLarge: operator('makes the repository smaller, or raises the bound', WHY),
  CommitVerified: nobody,
  VerificationOff: nobody,
  VerificationRunning: itself,
  UnverifiedCommit: author('of a trusted signer follows', WHY),
  HistoryRewritten: operator('puts the branch back', WHY),
  ApprovalsMissing: operator('approves the commit', 'kubenode approve OBJECT --reason WHY'),
  PlanExceeded: author('names the plan of what it does', 'kubenode plan'),
  RenderFailed: author('corrects the fleet', 'kubenode plan'),
  RenderUnavailable: operator('removes what keeps the fleet code from running', WHY),
  ApplyFailed: author('corrects or reverts what is refused', WHY),
  PruneGuard: operator('approves the deletions', 'kubenode approve OBJECT --reason WHY'),
  StillReferenced: author('no longer refers to it', WHY),
  DriftDetected: operator('puts back what was edited', 'kubenode trace OBJECT'),
  DriftUnchecked: operator('lets the release continue, or restores the settings of its source', WHY),
  UncommittedChange: operator('puts it back or commits it', 'kubenode put-back OBJECT'),
  UpToDate: nobody,
  StageWaiting: itself,
  GateClosed: itself,
  GateFailed: author('corrects or reverts the change', 'kubenode release status NAME'),
  MinSuccessTime: itself,
  StageFailed: author('corrects or reverts the change', 'kubenode release status NAME'),
  RevertedBefore: operator('tries the release again', 'kubenode release retry NAME --reason WHY'),
  NewerRelease: nobody,
  ReleaseComplete: nobody,
  ConcurrencyLimit: itself,
  InvalidSpec: author('corrects the field', 'kubenode lint'),
  ReferenceMissing: author('adds the object, or no longer refers to it', WHY),
  UnsupportedField: author('takes the field out', 'kubenode lint'),
}

const isTimeOf = ({ who }: WayOut): boolean => who === 'Nobody' || who === 'KubeNode'

/** Whether it does not end by itself. */
export const needsPeople = (reason: string): boolean => isReason(reason) && !isTimeOf(WAYS_OUT[reason])

/** The sentence as statuses phrase it; undefined if the reason ends by itself, or the catalog does not have it. `word`: the object as users type it. */
export function peopleSentence(reason: string, word: string): string | undefined {
  const way = isReason(reason) ? WAYS_OUT[reason] : undefined
  if (way === undefined || !('does' in way)) return undefined
  const line = commandFor(reason, word)
  return `${way.who === 'Author' ? 'a commit' : 'a person'} ${way.does}${line === undefined ? '' : `: ${line}`}`
}

/** What to type first; undefined if the reason ends by itself, or a shell would read the name as more than a word. */
function commandFor(reason: string, word: string): string | undefined {
  const way = isReason(reason) ? WAYS_OUT[reason] : undefined
  if (way === undefined || !('command' in way) || way.command === undefined) return undefined
  const command = way.command === CLUSTER && !word.startsWith('cluster/') ? WHY : way.command
  const line = command.replace('OBJECT', word).replace('NAME', word.slice(word.indexOf('/') + 1))
  return isTyped(line) ? line : undefined
}

/** What ends a wait. If the sentence names who must act, their first command is added, even if the status has none. */
export function wayOf(
  { predicate, unblock = '' }: { readonly predicate: string; readonly unblock?: string },
  word: string,
): WayOn {
  const way = unblockOf(unblock)
  if (way.ends === undefined || !isForPeople(way.ends) || endsInCommand(way.ends)) return way
  const line = commandFor(predicate, word)
  return line === undefined ? way : { ends: `${way.ends}: ${line}` }
}
