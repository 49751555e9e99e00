// Sync: git, signatures, renders and deliveries.
import type { Advice } from './advice.ts'

export const sync = {
  KN7004: {
    cause: 'The repository is of a kind that is not read here.',
    check: 'the form named in the message',
    do: 'do what the message proposes for that form',
  },
  KN7005: {
    cause: 'The fleet contains a link or submodule.',
    check: 'the path in the message',
    do: 'replace it with the files that it refers to',
  },
  KN7007: {
    cause: 'Objects of the repository are missing or damaged.',
    check: 'git fsck',
    do: 'fetch them again (git fetch --unshallow in a shallow clone), or clone again',
  },
  KN7009: {
    cause: 'A fetch failed.',
    check: 'the reason in the message; git ls-remote from the same network',
    do: 'correct address, branch or network; the commit fetched before stays in force',
  },
  KN7010: {
    cause: 'The name of a revision cannot be read, or goes back behind the first commit.',
    check: 'git rev-parse of the name',
    do: 'write a branch, a tag or a commit, with at most as many steps back (~1) as it has parents',
  },
  KN7011: {
    cause: 'The commit has no fleet at the expected path.',
    check: 'git ls-tree of the commit',
    do: 'commit one, or set the path of the FleetSource',
  },
  KN7015: {
    cause: 'The history contains an object that git itself never writes.',
    check: 'the object in the message, and who pushed it',
    do: 'remove it, make the commit again with git, and push',
  },
  KN7020: {
    cause: 'Sync reads no folder of its own machine unless started to do so.',
    check: 'spec.url of the FleetSource',
    do: 'use an https or ssh address, or start sync with --local-repository SOURCE=FOLDER',
  },
  KN7021: {
    cause: 'The Secret of a source does not hold what its address needs.',
    check: 'spec.url, and the entries of the Secret',
    do: 'https: username and password, or bearerToken (ca.crt); ssh: ssh-privatekey and known_hosts',
  },
  KN7023: {
    cause: 'The git server refused the credentials.',
    check: 'the Secret of spec.secretRef: whether the token expired, or the deploy key is registered',
    do: 'give credentials that may read the repository; the next fetch reads them',
  },
  KN7024: {
    cause: 'The certificate of the git server is not trusted.',
    check: 'openssl s_client -connect HOST:443',
    do: 'correct the certificate, or put its authority into ca.crt of the Secret',
  },
  KN7025: {
    cause: 'The git server redirects.',
    check: 'the address that it redirects to',
    do: 'set spec.url to that address',
  },
  KN7026: {
    cause: 'The address of a source contains a user or password.',
    check: 'spec.url',
    do: 'put them into a Secret and name that in spec.secretRef',
  },
  KN7027: {
    cause: 'Sync may not read the Secret of a source.',
    check: 'kubectl auth can-i get secret/NAME as kubenode-sync',
    do: 'create the Role and RoleBinding of the message',
  },
  KN7028: {
    cause: 'The host key of the git server is not in known_hosts.',
    check: 'the keys that its operator publishes',
    do: 'put the right line there; without an announcement suspect an interception',
  },
  KN7030: {
    cause: 'The commit has no signature that holds.',
    check: 'git log --show-signature',
    do: 'sign it with a valid key: git commit --amend -S, then push',
  },
  KN7032: {
    cause: 'The commit is signed, but not by a signer who may change this.',
    check: 'spec.verify.signers, and the paths of each signer',
    do: 'have a signer of these paths sign it, or add the key in a commit before',
  },
  KN7034: {
    cause: 'The commit is signed with a revoked key.',
    check: 'what it changes, and since when the key is revoked',
    do: 'revert what is bad, and sign what is good with another key',
  },
  KN7036: {
    cause: 'This signer may only go back to earlier files.',
    check: 'git diff with the earlier commit',
    do: 'revert until the files are those of an earlier commit, or have another signer sign',
  },
  KN7037: {
    cause: 'The commit waits for a second signer.',
    check: 'kubenode why source/NAME',
    do: 'have another signer read it and run kubenode approve source/NAME',
  },
  KN7039: {
    cause: 'The tag is not a signed tag under its own name.',
    check: 'git tag -v NAME',
    do: 'make it with git tag -s on the commit',
  },
  KN7040: {
    cause: 'The new commit is not connected with the last verified one.',
    check: 'git log between the two',
    do: 'push a branch that contains it, or review the history and set spec.verify.anchor',
  },
  KN7042: {
    cause: 'The rules for verifying commits cannot be used.',
    check: 'spec.verify of the FleetSource',
    do: 'correct spec.verify; the last verified commit stays in force',
  },
  KN7043: {
    cause: 'The signers file of a verified commit is damaged.',
    check: 'the path and commit in the message',
    do: 'set spec.verify.anchor to a commit with a correct file',
  },
  KN7044: {
    cause: 'A commit would choose who signs the next ones.',
    check: 'the FleetSource in the fleet',
    do: 'keep FleetSources out of the repository; change them with kubectl on the hub',
  },
  KN7046: {
    cause: 'The copy of a repository is larger than sync keeps.',
    check: 'git count-objects -vH, and the largest files in the history',
    do: 'remove large files, use a repository of its own, or raise --max-repository and the disk of --cache',
  },
  KN7047: {
    cause: 'The proxy of a source does not work for it.',
    check: 'spec.proxy, and proxyUsername and proxyPassword of the Secret',
    do: 'correct these; a proxy is for https addresses only',
  },
  KN7049: {
    cause: 'The branch or tag that is followed does not exist, or has no commit yet.',
    check: 'git ls-remote',
    do: 'push it, or name another one (spec.ref, --branch); the commit fetched before stays in force',
  },
  KN7050: {
    cause: "A commit in the name of sync's reverts is not one.",
    check: 'who pushed it',
    do: 'take it off the branch; if sync did not write it, revoke its key and give it a new one',
  },
  KN7051: {
    cause: 'The git server refuses a push of sync or of the console.',
    check: 'the credentials (spec.push, or the token entered), and the rules of the branch',
    do: 'let these credentials push there; for notes, set spec.push.notes to false',
  },
  KN7052: {
    cause: 'The key with which sync signs reverts cannot be used.',
    check: 'the entry signing-key of the Secret',
    do: 'make one: ssh-keygen -t ed25519 -N "" -f sync',
  },
  KN7054: {
    cause: 'The git server has an address inside of the machine of sync or its cloud.',
    check: 'the address in the message: DNS of the host',
    do: 'use an address by which others reach it, or start sync with --git-allow HOST',
  },
  KN7057: {
    cause: 'The copies of all repositories together are larger than sync keeps.',
    check: 'kubenode get sources, and the disk of --cache',
    do: 'delete sources that are not needed, or raise --max-repository and the disk of --cache',
  },
  KN7059: {
    cause: 'A repository needs more memory than sync gives to git.',
    check: 'the largest objects in its history',
    do: 'remove large files from the history, or give the fleet a repository of its own',
  },
  KN7060: {
    cause: 'The commit does not name the plan that it has.',
    check: 'kubenode plan --base COMMIT, as the message gives it',
    do: 'if it is right, add its digest as the trailer Kubenode-Plan',
  },
  KN7102: {
    cause: 'The code of the fleet does not parse, or throws an error.',
    check: 'kubenode plan, which renders it on this machine',
    do: 'correct the code at the place in the message, and commit it',
  },
  KN7103: {
    cause: 'An import of the fleet fails.',
    check: 'the import in the message',
    do: 'import files of the repository and the packages that a fleet may use',
  },
  KN7104: {
    cause: 'The code of the fleet does not finish.',
    check: 'loops, and promises that never resolve',
    do: 'make it end within the deadline in the message',
  },
  KN7105: {
    cause: 'The code of the fleet writes to its own output.',
    check: 'console.log and other writes',
    do: 'remove them',
  },
  KN7106: {
    cause: 'The code of the fleet ended its process.',
    check: 'process.exit, and crashes in the message',
    do: 'let the code return instead',
  },
  KN7107: {
    cause: 'The rendered objects cannot be used.',
    check: 'the object and problem in the message',
    do: 'correct what declares that object',
  },
  KN7109: {
    cause: 'Two places of the fleet declare the same object.',
    check: 'the key in the message',
    do: 'remove one of the declarations',
  },
  KN7110: {
    cause: 'This machine cannot isolate the code of a fleet.',
    check: 'sysctl kernel.unprivileged_userns_clone and user.max_user_namespaces; unshare and setpriv',
    do: 'allow user namespaces, use another machine, or --weak-cage allow for code that you trust',
  },
  KN7111: {
    cause: 'The fleet declares nothing.',
    check: 'fleet/main.ts',
    do: 'declare at least one chart there',
  },
  KN7112: {
    cause: 'The fleet renders differently each time.',
    check: 'dates, random numbers and the order of files in its code',
    do: 'remove values that change from run to run',
  },
  KN7114: {
    cause: 'The files or the rendered objects of the fleet are more or larger than one source may have.',
    check: 'git ls-files, the sizes of the files, and the largest lists in the fleet',
    do: 'remove what does not belong to the fleet, declare fewer or smaller objects, or split it into several sources',
  },
  KN7117: {
    cause: 'Objects of the commit are not valid.',
    check: 'kubenode plan, which lists every problem',
    do: 'correct them in a new commit; the one before stays in force',
  },
  KN7118: {
    cause: 'The user that renders cannot read KubeNode itself.',
    check: 'the mode of the folder in the message',
    do: 'move KubeNode to a folder that every user may read, or run as another user than root',
  },
  KN7122: {
    cause: 'There is no room for a render: its quota is used, or no node has enough memory and processor time.',
    check: 'kubectl -n kubenode-render get resourcequota,jobs,pods',
    do: 'wait for other renders, remove Jobs of others there, raise the quota, or add a node',
  },
  KN7126: {
    cause: 'A render in a Job ended before it was done.',
    check: 'kubectl -n kubenode-render get events',
    do: 'nothing at first: retried automatically; when it repeats, correct what the events name',
  },
  KN7130: {
    cause: 'Renders use another version than sync.',
    check: '--render-image of sync',
    do: 'start sync with the image that it runs from itself',
  },
  KN7131: {
    cause: 'The cluster refuses what a render needs.',
    check: 'the rights of sync in namespace kubenode-render',
    do: 'apply the install manifests of this version again, or --render process',
  },
  KN7133: {
    cause: 'A file of sops cannot be decrypted with the key of the source.',
    check: 'the recipients in the file',
    do: 'encrypt it again for the recipient in spec.decryption',
  },
  KN7134: {
    cause: 'The source has no usable key for encrypted files.',
    check: 'spec.decryption.secretRef, and the entry age.agekey of the Secret',
    do: 'put the lines of age-keygen into age.agekey and name the Secret',
  },
  KN7136: {
    cause: 'An encrypted value is declared outside of an EncryptedSecret.',
    check: 'the object in the message',
    do: 'declare the whole Secret with EncryptedSecret and its file',
  },
  KN7137: {
    cause: 'This version does not know the provider of keys.',
    check: 'spec.decryption.provider',
    do: 'set it to one that the message names, or upgrade sync',
  },
  KN7138: {
    cause: 'An encrypted Secret does not name the places that it was encrypted for.',
    check: 'kubenode.for under stringData of the file',
    do: 'encrypt it with a line CLUSTER/NAMESPACE/NAME for each place',
  },
  KN7301: {
    cause: 'The kubeconfig of the cluster is not available.',
    check: 'the Secret in the message',
    do: 'wait for what the message names, or put the kubeconfig there; retried automatically',
  },
  KN7305: {
    cause: 'The control plane of the cluster is not ready.',
    check: 'kubenode cluster show NAME',
    do: 'nothing: retried automatically; if it stays, correct what the command names',
  },
  KN7307: {
    cause: 'The pipeline before a commit cannot be read, and a commit does not choose its own gates.',
    check: 'git log of the branch: a forced push removes history',
    do: 'push another commit on top, or restore the history',
  },
  KN7308: {
    cause: 'A cluster returns more objects than any has.',
    check: 'who may write there',
    do: 'clean up the kind, and take the rights from what fills it',
  },
  KN7402: {
    cause: 'The source that this one replaces still exists.',
    check: 'kubenode get sources',
    do: 'delete that one, or remove it from spec.replaces',
  },
  KN7403: {
    cause: 'The source declares a kind or namespace that it may not write.',
    check: 'spec.writes of the FleetSource',
    do: 'add it there, or remove the object from the fleet',
  },
  KN7404: {
    cause: 'Another source declares this object.',
    check: 'kubenode trace KIND/NAME',
    do: 'remove it from one of the two; after a rename name the old source in spec.replaces',
  },
  KN7405: {
    cause: 'The object has a namespace that its kind does not have, or lacks one.',
    check: 'metadata.namespace',
    do: 'correct it',
  },
} as const satisfies Advice
