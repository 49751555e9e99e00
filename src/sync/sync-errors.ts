// The numbered errors of sync.
import { errorTable } from '#lib/error-table.ts'

export const syncErrors = errorTable({
  KN7001: {
    text: 'cannot read the repository {folder}: no such folder',
    next: 'check the path',
  },
  KN7002: {
    text: 'cannot find {revision} in {repository}: there is no such branch, tag or commit',
    next: 'was the branch deleted or renamed? what was rendered before stays in force',
  },
  KN7003: {
    text: 'cannot find a commit in {name}: HEAD names {branch}, which has none yet',
    next: 'make a first commit',
  },
  KN7004: {
    text: 'cannot read the repository {commonDir}: {what}',
    next: '{todo}',
  },
  KN7005: {
    text: 'cannot read {path}: it is a {kind}, and a fleet consists of plain files',
    next: 'replace it with the files it refers to',
  },
  KN7006: {
    text: 'cannot read {where}: it {seen}',
    next: 'remove files that do not belong to the fleet',
  },
  KN7007: {
    text: 'cannot read {what} in {repository}: {why}: the object is missing or damaged',
    next: 'in a shallow clone run git fetch --unshallow, otherwise run git fsck',
  },
  KN7008: {
    text: 'cannot read {where} within {deadlineMs} ms',
    next: 'try again',
  },
  KN7009: {
    text: 'cannot fetch {url}: {why}',
    next: 'check the address, the branch and the credentials; the commit fetched before stays in force',
  },
  KN7010: {
    text: 'cannot find {revision} in {repository}: commit {commit} has {parents}',
    next: 'name a commit that exists',
  },
  KN7011: {
    text: 'cannot render commit {commit} of {repository}: it has no {entry}',
    next: 'commit one, or set the path of the FleetSource',
  },
  KN7013: {
    text: 'cannot plan for cluster {cluster}: the fleet has {all}',
    next: 'name one of these',
  },
  KN7014: {
    text: 'cannot read the revision {revision}',
    next: 'write a branch, a tag or a commit, optionally with ~1',
  },
  KN7015: {
    text: 'cannot read {path}: it has {problem}, which git itself never writes',
    next: 'remove the entry and rewrite the commit',
  },
  KN7016: {
    text: 'cannot read {path}: {object} is not a {type}',
    next: 'run git fsck in the repository',
  },
  KN7017: {
    text: 'cannot read the repository {folder}: it has no .git',
    next: 'run git init && git add -A && git commit there, or name another folder',
  },
  KN7018: {
    text: 'cannot fetch {url}: only https, ssh and file addresses are supported',
    next: 'correct the address',
  },
  KN7019: {
    text: 'cannot read {what} in {repository}: the git object {object} {why}, which git itself never writes',
    next: 'run git fsck in the repository; remove the object and whatever refers to it',
  },
  KN7020: {
    text: 'cannot read {url} for FleetSource {source}: sync reads no such repository of its own machine',
    next: 'use an https or ssh address, or start sync with --local-repository {source}=FOLDER',
  },
  KN7021: {
    text: 'cannot fetch {url} for FleetSource {source}: ssh needs a key of its own',
    next: 'name a Secret with ssh-privatekey and known_hosts in spec.secretRef',
  },
  KN7022: {
    text: 'cannot fetch for FleetSource {source}: the Secret {secret} of spec.secretRef {why}',
    next: 'https takes username and password, or bearerToken, and ca.crt for a private authority; ssh takes ssh-privatekey and known_hosts',
  },
  KN7023: {
    text: 'cannot fetch {url}: the server refused {credentials} (HTTP {status})',
    next: 'put a username and password, or a bearerToken, that may read the repository into the Secret of spec.secretRef; sync reads it again with each fetch',
  },
  KN7024: {
    text: 'cannot fetch {url}: the certificate of the server is not trusted: {why}',
    next: 'correct the certificate, or put the authority that signs it into ca.crt of the Secret of spec.secretRef',
  },
  KN7025: {
    text: 'cannot fetch {url}: the server redirects to another address, and sync follows no redirects',
    next: 'set spec.url to the address that the server redirects to',
  },
  KN7026: {
    text: 'cannot fetch for FleetSource {source}: spec.url contains a user or a password',
    next: 'put them into a Secret, and name it in spec.secretRef',
  },
  KN7027: {
    text: 'cannot fetch for FleetSource {source}: sync may not read the Secret {namespace}/{name} of spec.secretRef',
    next: 'run kubectl -n {namespace} create role kubenode-git --verb=get --resource=secrets --resource-name={name}, and bind it to the service account kubenode-sync of kubenode-system',
  },
  KN7028: {
    text: 'cannot fetch {url}: the host key of the server is not trusted by known_hosts of the Secret of spec.secretRef: {why}',
    next: 'compare it with the keys that the operator of the server publishes, and put its line there; if no operator announced a new one, the connection may be intercepted',
  },
  KN7029: {
    text: 'cannot fetch {url}: the server refused the ssh key {key}: {why}',
    next: 'register its public key at the server as a deploy key that may read the repository, and check the user in spec.url, such as git@; the next fetch tries it again',
  },
  KN7030: {
    text: 'cannot follow {commit}: it has no signature',
    next: 'sign it with git commit --amend -S (a range: git rebase --exec "git commit --amend --no-edit -S" BASE) and push again; what was followed before stays in force',
  },
  KN7031: {
    text: 'cannot follow {commit}: its signature {why}',
    next: 'sign it again with git commit --amend -S; what was followed before stays in force',
  },
  KN7032: {
    text: 'cannot follow {commit}: it is signed with {key}, which is not a key of a signer',
    next: 'have a signer sign it, or add the key to spec.verify.signers of the FleetSource or, in a commit before this one, to its signers file',
  },
  KN7033: {
    text: 'cannot follow {commit}: it is signed with {key} of {principal}, valid {valid}, and was first seen at {seen}',
    next: 'sign it with a key that is valid now; dates inside the commit do not count',
  },
  KN7034: {
    text: 'cannot follow {commit}: it is signed with {key}, which is revoked{since}; it was first seen at {seen}',
    next: 'check what it changes, revert it if it is in force, and sign what is good with another key',
  },
  KN7035: {
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
  KN7038: {
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
  KN7041: {
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
  KN7045: {
    text: 'cannot fetch over ssh: this machine has no program ssh on the PATH',
    next: 'install openssh-client where sync runs, or use an https address',
  },
  KN7046: {
    text: 'cannot fetch {url}: its copy would have more than {limit} MiB, and the fetch was ended',
    next: 'remove large files from its history, move the fleet to a repository of its own, or raise --max-repository of sync and the disk below --cache; the commit fetched before stays in force',
  },
  KN7047: {
    text: 'cannot fetch {url}: the proxy {proxy} refused the connection: {why}',
    next: 'check spec.proxy, proxyUsername and proxyPassword of the Secret of spec.secretRef, and whether the proxy may reach this server',
  },
  KN7048: {
    text: 'cannot fetch {url} for FleetSource {source}: spec.proxy is for https addresses',
    next: 'use the https address of the repository, or remove spec.proxy',
  },
  KN7049: {
    text: 'cannot fetch {url}: it has no {ref}{hint}',
    next: 'push it again, or set spec.ref of the FleetSource to what replaces it; the commit fetched before stays in force',
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
  KN7053: {
    text: 'cannot fetch {url}: the repository there is a shallow clone, without the history that tells what a commit follows',
    next: 'run git fetch --unshallow in it, or name the repository that it was cloned from; the commit fetched before stays in force',
  },
  KN7060: {
    text: 'cannot follow {commit}: it changes objects and names no plan, which spec.requirePlan demands',
    next: 'add the digest of kubenode plan --base {before} -o json to its message: git commit --amend --trailer "Kubenode-Plan: sha256:…"',
  },
  KN7061: {
    text: 'cannot follow {commit}: its message names plan {named}, and from {before} on it is plan {actual}',
    next: 'read kubenode plan --base {before} again: another commit came in between, or the fleet was changed after the plan; then name the new digest',
  },
  KN7101: {
    text: 'cannot render {what}: the fleet does not parse{place}: {why}',
    next: 'correct the syntax',
  },
  KN7102: {
    text: 'cannot render {what}: the fleet fails{place}: {why}',
    next: 'correct the fleet; kubenode plan renders it on this machine',
  },
  KN7103: {
    text: 'cannot render {what}: an import of the fleet fails{place}: {why}',
    next: 'import files of the repository, and the packages that a fleet may use',
  },
  KN7104: {
    text: 'cannot {what}: its code did not finish within {deadlineMs} ms',
    next: 'check it for endless loops and for promises that never resolve',
  },
  KN7105: {
    text: 'cannot {what}: its code prints more than {limit} bytes',
    next: 'remove what it prints',
  },
  KN7106: {
    text: 'cannot {what}: its code {how}',
    next: 'check what it prints and whether it calls process.exit',
  },
  KN7107: {
    text: 'cannot use the rendered fleet: {what} {problem}',
    next: 'correct the fleet',
  },
  KN7109: {
    text: 'cannot use the rendering: {key} is declared twice for {target}{where}',
    next: 'remove one',
  },
  KN7110: {
    text: 'cannot run the code of a fleet here: a cage needs root with CAP_SYS_ADMIN or unprivileged user namespaces, and unshare, setpriv and mount of util-linux; this machine lacks them',
    next: 'allow user namespaces (sysctl kernel.unprivileged_userns_clone=1, user.max_user_namespaces), use another machine or, for code that you trust, add --weak-cage allow',
  },
  KN7118: {
    text: 'cannot run the code of a fleet in the weaker cage: the user {uid} that it would run as cannot read {release}',
    next: 'move KubeNode to a folder that every user may read, or run the command as another user than root',
  },
  KN7111: {
    text: 'cannot render {what}: the fleet renders nothing{place}: {why}',
    next: 'declare at least one chart in fleet/main.ts',
  },
  KN7112: {
    text: 'cannot use {what}: rendering it twice gives different objects',
    next: 'remove values that change from run to run',
  },
  KN7113: {
    text: 'cannot {what}: a newer commit arrived during the render',
    next: 'the newer commit is rendered instead',
  },
  KN7114: {
    text: 'cannot {what}: its objects have more than {limit} bytes',
    next: 'split the fleet into several sources',
  },
  KN7115: {
    text: 'cannot {what}: its code needs more memory than a render may use',
    next: 'declare fewer or smaller objects',
  },
  KN7116: {
    text: 'cannot {what}: line {line} of its output {problem}',
    next: 'remove code that writes to the render output',
  },
  KN7117: {
    text: 'cannot use commit {commit}: {first}{more}',
    next: 'correct it in a new commit; kubenode plan lists every problem',
  },
  KN7119: {
    text: 'cannot {what}: {seen} has more than {limit}',
    next: 'declare fewer or smaller objects',
  },
  KN7120: {
    text: 'cannot {what}: its output has the {kind} {name} twice',
    next: 'remove code that writes to the render output',
  },
  KN7121: {
    text: 'cannot render in a Job: the files of the fleet are {bytes} bytes when packed, and a Job gets at most {limit}',
    next: 'remove files that do not belong to the fleet, or split it into several sources',
  },
  KN7122: {
    text: 'cannot render in a Job: the quota of namespace kubenode-render is full: {why}',
    next: 'wait for other renders, remove Jobs that are not of KubeNode from that namespace, or raise the ResourceQuota',
  },
  KN7123: {
    text: 'cannot render in Job {job}: its image cannot be pulled: {why}',
    next: 'check that nodes reach the registry and that the image exists; a private registry needs imagePullSecrets on the account kubenode-render of namespace kubenode-render',
  },
  KN7124: {
    text: 'cannot render in Job {job}: no node has room for its pod: {why}',
    next: 'add a node, or free memory and processor time on one',
  },
  KN7125: {
    text: 'cannot render in Job {job}: the cluster refuses its pod: {why}',
    next: 'let an admission policy of the platform pass pods of namespace kubenode-render as they are',
  },
  KN7126: {
    text: 'cannot render in Job {job}: its pod was ended from outside ({reason}): {why}',
    next: 'retried automatically; when it repeats, read the events of the node',
  },
  KN7127: {
    text: 'cannot render in Job {job}: {why}',
    next: 'retried automatically',
  },
  KN7128: {
    text: 'cannot render in Job {job}: its program did not start: {why}',
    next: 'retried automatically; when it repeats, read the events of namespace kubenode-render',
  },
  KN7129: {
    text: 'cannot render in Job {job}: its log {problem}',
    next: 'a node that rotates logs below 10 MiB (containerLogMaxSize) or ends pods early does this; retried automatically',
  },
  KN7130: {
    text: 'cannot render in Job {job}: its image has KubeNode {seen}, and sync is {own}',
    next: 'start sync with --render-image and the image that it runs from itself',
  },
  KN7131: {
    text: 'cannot render in a Job: the cluster refuses the {kind} that sync makes in namespace kubenode-render: {why}',
    next: 'apply the install manifests of this version again; kubenode run --render process renders in a process where the machine has namespaces',
  },
  KN7132: {
    text: 'cannot render in a Job: the objects of the fleet are {bytes} bytes when packed, and the log of a pod holds {limit}',
    next: 'split the fleet into several sources',
  },
  KN7133: {
    text: 'cannot decrypt {file}: it {why}',
    next: 'encrypt it again with sops, for the recipient of the key that spec.decryption of the FleetSource names',
  },
  KN7134: {
    text: 'cannot decrypt {file}: the FleetSource has no spec.decryption',
    next: 'put the key of age into a Secret as age.agekey, and name that in spec.decryption.secretRef',
  },
  KN7135: {
    text: 'cannot decrypt the files of FleetSource {source}: Secret {secret} {why}',
    next: 'put the lines of age-keygen into its entry age.agekey',
  },
  KN7136: {
    text: 'has values that sops encrypted, and nothing decrypts them here',
    next: 'keep them in the Secret that was encrypted, and declare that with EncryptedSecret and its file',
  },
  KN7137: {
    text: 'cannot decrypt the files of FleetSource {source}: this version does not know spec.decryption.provider {provider}',
    next: 'set it to {known}, or upgrade sync to the version of the definitions',
  },
  KN7202: {
    text: 'cannot apply {object}: {why}, and the cluster does not list it for git',
    next: 'if a commit may declare it, grant sync the verb {verb} on {resource} of API group {group}, resource name {name}{where}; see docs/security.md',
  },
  KN7203: {
    text: 'cannot apply {object}: namespaces of Kubernetes and KubeNode (kube-*, kubenode-*, default) are not declared in git',
    next: 'remove it from the fleet',
  },
  KN7204: {
    text: 'cannot apply {object}: namespace kubenode-render is where sync renders commits, and no commit declares anything there',
    next: 'remove it from the fleet, or give it another namespace',
  },
  KN7301: {
    text: 'cannot connect to cluster {id}: it has no kubeconfig yet',
    next: 'retried automatically once its Secret has one',
  },
  KN7302: {
    text: 'cannot connect to cluster {id}: the Secret {namespace}/{ref} {detail}',
    next: 'put the kubeconfig there',
  },
  KN7303: {
    text: 'cannot connect to cluster {id}: the Secret {namespace}/{ref} is not for this cluster',
    next: 'name the Secret {expected}, or annotate it with {annotation}: {id}',
  },
  KN7307: {
    text: 'cannot read ReleasePipeline {pipeline} as it was before the commit, at {commit}: {why}',
    next: 'a commit does not choose its own gates, so the release waits; push another commit on top, or restore the history of the branch',
  },
  KN7401: {
    text: 'cannot follow FleetSource {source} beside {other}: {missing} has no spec.writes',
    next: 'list in spec.writes of each source the kinds and namespaces that it may write',
  },
  KN7402: {
    text: 'cannot follow FleetSource {source}: it replaces {other}, which still exists',
    next: 'delete that one, or remove it from spec.replaces',
  },
  KN7403: {
    text: '{object} is not in spec.writes of FleetSource {source}',
    next: 'add its kind and namespace there, or remove it from the fleet',
  },
})
