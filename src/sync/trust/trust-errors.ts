// The numbered errors of commits that are not followed, and of reverts that cannot be written.
import { errorTable } from '#lib/error-table.ts'

export const trustErrors = errorTable({
  KN7030: {
    text: 'cannot follow {commit}: it has no signature',
    next: 'sign it with git commit --amend -S (a range: git rebase --exec "git commit --amend --no-edit -S" BASE) and push again; what was followed before stays in force',
  },
  KN7030_broken: {
    text: 'cannot follow {commit}: its signature {why}',
    next: 'sign it again with git commit --amend -S; what was followed before stays in force',
  },
  KN7032: {
    text: 'cannot follow {commit}: it is signed with {key}, which is not a key of a signer',
    next: 'have a signer sign it, or add the key to spec.verify.signers of the FleetSource or, in a commit before this one, to its signers file',
  },
  KN7030_expired: {
    text: 'cannot follow {commit}: it is signed with {key} of {principal}, valid {valid}, and was first seen at {seen}',
    next: 'sign it with a key that is valid now; dates inside the commit do not count',
  },
  KN7034: {
    text: 'cannot follow {commit}: it is signed with {key}, which is revoked{since}; it was first seen at {seen}',
    next: 'check what it changes, revert it if it is in force, and sign what is good with another key',
  },
  KN7032_path: {
    text: 'cannot follow {commit}: {principal} ({key}) may change {paths}, and it changes {path}',
    next: 'have a signer of this path sign it',
  },
  KN7036: {
    text: 'cannot follow {commit}: {principal} ({key}) may only go back to files of an earlier commit, and these are others',
    next: 'git revert the bad commits until the files are those of an earlier one, or have another signer sign it',
  },
  KN7037: {
    text: 'cannot follow {commit} of {principal} ({key}) yet: {why}',
    next: 'another signer reads it and runs kubenode approve source/NAME',
  },
  KN7015_commit: {
    text: 'cannot follow {commit}: it {why}',
    next: 'make the commit again with git; no git writes it like this',
  },
  KN7039: {
    text: 'cannot follow the tag {tag}: it {why}',
    next: 'make it with git tag -s, under its own name, on a commit',
  },
  KN7040: {
    text: 'cannot follow {commit}: it does not descend from {verified}, the last verified commit',
    next: 'push a branch that contains it; to give it up, review the new history and set spec.verify.anchor of the FleetSource to a commit of it',
  },
  KN7040_far: {
    text: 'cannot follow {commit}: too many commits lie between it and {verified}, the last verified one',
    next: 'review the newest and set spec.verify.anchor of the FleetSource to it',
  },
  KN7042: {
    text: 'cannot verify the commits of FleetSource {source}: {why}',
    next: 'correct spec.verify of the FleetSource; what was followed before stays in force',
  },
  KN7043: {
    text: 'cannot verify the commits of FleetSource {source}: {path} of the verified commit {commit} {why}',
    next: 'set spec.verify.anchor of the FleetSource to a commit with a correct file; until then spec.verify.signers cannot be extended by it',
  },
  KN7044: {
    text: 'git may not declare {object}: FleetSource {source} verifies commits, and a commit does not choose who signs the next ones',
    next: 'keep FleetSources out of the repository, and change them with kubectl on the hub',
  },
  KN7050: {
    text: 'cannot follow {commit}: {principal} ({key}) signs reverts by sync only, and it {why}',
    next: 'take it off the branch; if sync did not write it, its key is known to others: revoke it and give sync a new one',
  },
  KN7051: {
    text: 'cannot write revert {commit} to branch {branch} of {url}: {why}',
    next: 'check the credentials in the Secret of spec.push and the rules of the branch; retried automatically',
  },
  KN7052: {
    text: 'cannot sign reverts of {source}: the Secret {secret} {why}',
    next: 'put an Ed25519 private key of OpenSSH without a passphrase into signing-key: ssh-keygen -t ed25519 -N "" -f sync',
  },
  KN7051_note: {
    text: 'cannot write the note of commit {commit} to refs/notes/kubenode of {url}: {why}',
    next: 'let the credentials of spec.push write that ref, or set spec.push.notes to false; retried automatically',
  },
  KN7060: {
    text: 'cannot follow {commit}: it changes objects and names no plan, which spec.requirePlan demands',
    next: 'read kubenode plan --base {before}; if it is right, add its digest: git commit --allow-empty -m "as planned" --trailer "Kubenode-Plan: {actual}"',
  },
  KN7060_other: {
    text: 'cannot follow {commit}: its message names plan {named}, and from {before} on it is plan {actual}',
    next: 'another commit came in between, or the fleet was changed after the plan: read kubenode plan --base {before} again; if it is right, name it: git commit --allow-empty -m "as planned" --trailer "Kubenode-Plan: {actual}"',
  },
})
