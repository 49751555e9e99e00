// The numbered errors of runtime.
import { errorTable } from '#lib/error-table.ts'

export const runtimeErrors = errorTable({
  KN3001: {
    text: 'cannot reconcile {controller} {key}: not finished after {timeoutMs} ms',
    next: 'retried automatically with backoff',
  },
  KN3001_shutdown: {
    text: 'controller {name} is stopping',
    next: 'expected at shutdown',
  },
  KN3001_aborted: {
    text: 'the reconcile was aborted before it finished',
    next: 'retried automatically',
  },
  KN3001_outdated: {
    text: 'the decision was outdated: {why}',
    next: 'retried automatically with current state',
  },
  KN1002_leader: {
    text: 'cannot elect a leader with {seen}',
    next: 'set lease > renew deadline > 1.5 × retry',
  },
  KN3001_election: {
    text: 'leader election is stopping',
    next: 'expected at shutdown',
  },
  KN3012: {
    text: 'leadership ended: {reason}',
    next: 'the process ends; Kubernetes or its service starts it again, as a follower',
  },
  KN3012_write: {
    text: 'cannot {what}: this process is no longer the leader',
    next: 'the new leader does it',
  },
  KN1000_precondition: {
    text: "cannot {what}: a leader's write needs {missing}",
    next: 'take it from the object that the decision is based on',
  },
  KN1000_copy: {
    text: 'cannot change {kind} {name}: this copy has no {missing}',
    next: 'read it from the server first',
  },
  KN1206_metrics: {
    text: 'cannot serve metrics and health on {host}:{port}: {why}',
    next: 'choose another port',
  },
  KN3031: {
    text: 'cannot serve metrics: the Secret {namespace}/{name} for their certificate does not exist',
    next: 'apply deploy/install again, or give --metrics-tls-cert and --metrics-tls-key',
  },
  KN3001_metricsSecret: {
    text: 'cannot write the certificate of the metrics to the Secret {namespace}/{name}: another replica was faster',
    next: 'retried automatically',
  },
  KN1000_startedTwice: {
    text: 'a manager can run only once',
    next: 'create a new manager',
  },
  KN3050: {
    text: 'cannot decide: the cache of {what} is not complete yet',
    next: 'retried automatically',
  },
  KN3051: {
    text: 'cannot decide: no updates of {what} for {silent}',
    next: 'check the API server',
  },
  KN3001_caches: {
    text: 'the caches are stopping',
    next: 'expected at shutdown',
  },
  KN1002_calls: {
    text: 'cannot allow calls to {text}',
    next: 'give an origin and optionally a path, such as https://hooks.example.org/repairs',
  },
})
