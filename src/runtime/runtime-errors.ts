// The numbered errors of runtime.
import { errorTable } from '#lib/error-table.ts'

export const runtimeErrors = errorTable({
  KN3001: {
    text: 'cannot reconcile {controller} {key}: not finished after {timeoutMs} ms',
    next: 'retried automatically with backoff',
  },
  KN3002: {
    text: 'controller {name} stops',
    next: 'expected at shutdown',
  },
  KN3003: {
    text: 'the reconcile was told to end before all was done',
    next: 'retried automatically',
  },
  KN3004: {
    text: 'the decision was outdated: {why}',
    next: 'it is made anew',
  },
  KN3010: {
    text: 'cannot elect a leader with {seen}',
    next: 'choose lease > renew deadline > 1.5 × retry',
  },
  KN3011: {
    text: 'leader election stops',
    next: 'expected at shutdown',
  },
  KN3012: {
    text: 'leadership ended: {reason}',
    next: 'the process starts again as a follower',
  },
  KN3013: {
    text: 'cannot {what}: this process is no longer leader',
    next: 'the new leader does it',
  },
  KN3014: {
    text: "cannot {what}: a leader's write needs {missing}",
    next: 'take them from the object that was decided about',
  },
  KN3020: {
    text: 'cannot change {kind} {name}: the copy at hand has no {missing}',
    next: 'read it from the server first',
  },
  KN3030: {
    text: 'cannot serve metrics and health on {host}:{port}: {why}',
    next: 'choose another port',
  },
  KN3040: {
    text: 'a manager runs once',
    next: 'make a new one',
  },
  KN3050: {
    text: 'cannot decide: the cache of {what} is not complete yet',
    next: 'it is tried again',
  },
  KN3051: {
    text: 'cannot decide: nothing was heard about {what} for {silent}',
    next: 'check the API server',
  },
  KN3052: {
    text: 'the caches stop',
    next: 'expected at shutdown',
  },
  KN3080: {
    text: 'cannot allow calls to {text}',
    next: 'write an origin and perhaps a path, such as https://hooks.example.org/repairs',
  },
})
