// The numbered errors of pause, rollback, rollout, canary and release.
import { errorTable } from '#lib/error-table.ts'

export const rolloutErrors = errorTable({
  KN1325_pause: {
    text: 'cannot pause or resume {what}: name it as {Object}',
    next: 'kubenode freeze holds whole clusters',
  },
  KN1325_fluxKind: {
    text: 'cannot pause or resume {what}: that is a kind of Flux; here sync reads sources',
    next: 'run kubenode pause source/NAME --reason WHY, or kubenode resume source/NAME; kubenode get sources lists them',
  },
  KN1002_hold: {
    text: 'cannot hold for {length}',
    next: 'write a duration such as 30m or 4h, at most 30d',
  },
  KN1372: {
    text: 'cannot find {revision} of set/{name}',
    next: 'name one with {option}: {known}',
  },
  KN1372_none: {
    text: 'cannot find {revision} of set/{name}: no other revision is kept',
    next: 'commit another version; kubenode rollout history {name} lists what is kept',
  },
  KN1373: {
    text: 'canary/{name} is promoted already: set/{promotedBy} declares its versions',
    next: 'remove the canary from the fleet',
  },
  KN1374: {
    text: 'cannot promote canary/{name}: it is {phase}{detail}',
    next: 'run kubenode canary status {name}',
  },
  KN1375: {
    text: 'cannot promote canary/{name}: no set declares {names} in another version',
    next: 'add the components to a set by a commit',
  },
  KN1002_reason: {
    text: 'cannot roll back now without a reason',
    next: 'give one with --reason; it is shown to others while the set is pinned',
  },
  KN1374_abort: {
    text: 'cannot abort release/{name}: it is {phase}',
    next: 'revert its commit to take it back',
  },
  KN1385: {
    text: 'cannot write the way back: {what} failed: {why}',
    next: 'commit or stash your changes, then run it again; git revert --abort ends a revert that was begun',
  },
  KN1384: {
    text: 'cannot write the change of {what} into the fleet: no single line does exactly this',
    next: 'run it without --write for the components, write them by hand, and read the effect with kubenode plan --dirty',
  },
  KN1374_retry: {
    text: 'nothing to retry: {what} is {phase}, and nothing of it failed',
    next: 'kubenode why {what} shows what it waits for',
  },
  KN1374_lift: {
    text: 'nothing to lift: {what} not stopped in all clusters; stopped: {stops}',
    next: 'see kubenode brake status on the hub',
  },
  KN1374_copy: {
    text: 'cannot lift stops here: this is the copy for cluster {cluster}',
    next: 'run it on the hub, or give --context',
  },
  KN1374_soak: {
    text: 'cannot promote release/{name}: no stage of it soaks; {why}',
    next: 'see kubenode why release/{name}: gates open by themselves or with kubenode approve, and a pause ends with kubenode resume',
  },
  KN1325_history: {
    text: 'cannot list the history of {what}: only clusters and sets have one',
    next: 'name cluster/NAME on the hub or set/NAME in its cluster; kubenode trace shows where another object comes from',
  },
})
