// The numbered errors of `kubenode init` and `kubenode bootstrap`.
import { errorTable } from '#lib/error-table.ts'

export const initErrors = errorTable({
  KN1501: {
    text: 'cannot make a repository in {folder}: it is not empty (it has {seen})',
    next: 'name another folder, or add --force, which adds the files that are missing and changes none',
  },
  KN1502: {
    text: 'cannot keep the private key in {file}: that is inside the repository, where it would be committed',
    next: 'name a file outside of it with --key',
  },
  KN1501_write: {
    text: 'cannot write {path}: {why}',
    next: 'move it away, or name another folder',
  },
  KN1002_value: {
    text: 'cannot use {value} for {flag}: {why}',
    next: 'give another one',
  },
  KN1208_init: {
    text: 'cannot make a git repository: {why}',
    next: 'install git',
  },
  KN1520: {
    text: 'cannot follow {url}: {why}',
    next: 'give an address such as https://git.example.org/fleet.git or ssh://git@git.example.org/fleet.git',
  },
  KN7049_empty: {
    text: 'cannot follow {url}: it has no commit on branch {branch}; it is empty, or its branch has another name',
    next: 'push a commit, or name the branch with --branch',
  },
  KN1522: {
    text: 'cannot follow commit {commit}: no cluster accepts {count} of its objects; the first: {first}',
    next: 'correct the fleet, commit and push',
  },
  KN1523: {
    text: 'cannot make hosts trust the keys of commit {commit}: the installed trust document refuses them: {why}',
    next: 'sign the new document with the old keys: kubenode artifact keys rotate',
  },
  KN1524: {
    text: 'cannot follow {url}: FleetSource {source} follows {other} already, and only one source may declare everything',
    next: 'delete it, or declare what each of them may write in spec.writes',
  },
  KN1524_same: {
    text: 'cannot follow {url}: FleetSource {source} follows {seen}',
    next: 'change its spec, or delete it; what it applied stays until another source takes over',
  },
  KN2403_follow: {
    text: 'cannot make the cluster follow {url}: this user may not {missing}',
    next: 'use the account of a cluster administrator',
  },
  KN1433_roles: {
    text: 'cannot follow {url}: the settings give this cluster the roles {roles}, and only role hub runs sync',
    next: 'set roles to hub, or to hub and business',
  },
  KN7023_first: {
    text: 'cannot fetch {url} with these credentials: {why}',
    next: '{todo}',
  },
})
