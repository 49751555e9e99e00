// What must have happened in so many seeds: a thing that never happens is not tested, whatever the seeds say.

/** So many seeds meet every story and every fault several times; fewer need not. */
const MANY = 600

/** People, machines and the two who decide: the stories see to these whatever the seed is. */
const OF_STORIES: readonly string[] = [
  'a node fails',
  'an agent falls silent',
  'an agent lies',
  'a switch goes back',
  'an order to switch',
  'a machine joins in mid-rollout',
  'a machine is deleted in mid-rollout',
  'a machine changes its labels in mid-rollout',
  'the selector moves in mid-rollout',
  'the revision changes in mid-rollout',
  'the set is Blocked',
  'the set is Paused',
  'a rollout waits for a zone',
  'a permit is Granted',
  'a permit is Granted for a recovery',
  'the canary is Failed',
  'the canary is Promoted',
]

/** What the dice see to. */
const OF_FAULTS: readonly string[] = [
  ...[0, 1, 2, 3].map((step) => `a pause in step ${step}`),
  ...['AwaitingPermit', 'Switching', 'Inspecting', 'Soaking'].map((phase) => `a pause while ${phase}`),
  'a write: crash before',
  'a write: crash after',
  'a write: lose after',
  ...['refuse 409 before', 'refuse 429 before', 'refuse 500 before', 'refuse 500 after', 'refuse 503 before'].map(
    (fault) => `a write: ${fault}`,
  ),
  'a write: refuse 504 after',
  'a read: refuse 429 before',
  'a read: refuse 500 before',
  ...['duplicate', 'swap', 'delay', 'close', 'lose', 'error', 'drop'].map((fault) => `an event: ${fault}`),
  'a write that rests on a stale cache',
  'a process restarts into the past',
  'history is forgotten, and caches list again',
  'a process is cut off',
  'a process stands still',
]

export const expectedIn = (seeds: number): readonly string[] => (seeds >= MANY ? [...OF_STORIES, ...OF_FAULTS] : [])
