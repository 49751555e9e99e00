// The numbered errors of what the console does in a repository of the fleet.
import { errorTable } from '#lib/error-table.ts'

export const consoleRepositoryErrors = errorTable({
  KN1044_plans: {
    text: '{most} plans are waiting already',
    next: 'wait until one is done, or run kubenode plan in a terminal',
  },
  KN1384_version: {
    text: 'no line of the fleet in {commit} that could be edited sets {component} of {set} to {from}',
    next: 'edit the file by hand, and read the effect with kubenode plan --dirty',
  },
  KN1722: {
    text: 'cannot declare the Nodes in {file}: {why}',
    next: 'print the Machines with kubenode import -o yaml and declare them by hand',
  },
  KN1723: {
    text: '{count} of the Nodes cannot be imported, the first is {name}: {why}',
    next: 'leave them out',
  },
  KN1722_protect: {
    text: 'cannot edit the protection of machines of {cluster}: {why}',
    next: 'edit spec.protect of a DefenderPolicy of this cluster by hand, and read the effect with kubenode plan --dirty',
  },
  KN1723_machine: {
    text: 'there is no machine {name} in {cluster}',
    next: 'leave it out',
  },
  KN1724: {
    text: 'the repository {repository} has no branch {branch}, which FleetSource {source} follows',
    next: 'fetch it, or start the console with the repository of this source',
  },
  KN1725: {
    text: 'the prepared commit {commit} is no longer known',
    next: 'prepare it again',
  },
  KN1726: {
    text: 'the commit is not pushed to {branch}: {why}',
    next: 'push it to another branch, or apply the patch with git am and sign it with git commit --amend -S',
  },
  KN7051_pushed: {
    text: 'cannot push with these credentials: {why}',
    next: 'enter an access token that may write to the repository',
  },
  KN1726_refused: {
    text: 'cannot push {commit} to branch {branch} of {url}: {why}',
    next: 'check the access token and the rules of the branch, or apply the patch with git am in a clone',
  },
  KN1725_moved: {
    text: 'cannot push {commit} to branch {branch}: the branch got other commits after this one was prepared',
    next: 'prepare it again, so that it has them',
  },
  KN1726_exists: {
    text: 'cannot push {commit} to branch {branch}: there is such a branch already',
    next: 'merge or delete that branch, or apply the patch with git am in a clone',
  },
  KN1385_edit: {
    text: 'cannot edit {path}: {why}',
    next: 'commit or stash what is there, then run the command again; without --write it prints the change',
  },
})
