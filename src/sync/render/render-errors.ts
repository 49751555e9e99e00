// The numbered errors of rendering and decrypting a commit.
import { errorTable } from '#lib/error-table.ts'

export const renderErrors = errorTable({
  KN7102_syntax: {
    text: 'cannot render {what}: the fleet does not parse{place}: {why}',
    next: 'correct the syntax',
  },
  KN7102: {
    text: 'cannot render {what}: the fleet fails{place}: {why}',
    next: 'correct the fleet',
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
  KN3001_newer: {
    text: 'cannot {what}: a newer commit arrived during the render',
    next: 'the newer commit is rendered instead',
  },
  KN7114: {
    text: 'cannot {what}: its objects have more than {limit} bytes',
    next: 'split the fleet into several sources',
  },
  KN7114_memory: {
    text: 'cannot {what}: its code needs more memory than a render may use',
    next: 'declare fewer or smaller objects',
  },
  KN7105_line: {
    text: 'cannot {what}: line {line} of its output {problem}',
    next: 'remove code that writes to the render output',
  },
  KN7117: {
    text: 'cannot use commit {commit}: {first}{more}',
    next: 'correct it in a new commit; kubenode plan lists every problem',
  },
  KN7114_count: {
    text: 'cannot {what}: {seen} has more than {limit}',
    next: 'declare fewer or smaller objects',
  },
  KN7105_twice: {
    text: 'cannot {what}: its output has the {kind} {name} twice',
    next: 'remove code that writes to the render output',
  },
  KN7114_jobFiles: {
    text: 'cannot render in a Job: the files of the fleet are {bytes} bytes when packed, and a Job gets at most {limit}',
    next: 'remove files that do not belong to the fleet, or split it into several sources',
  },
  KN7122: {
    text: 'cannot render in a Job: the quota of namespace kubenode-render is full: {why}',
    next: 'wait for other renders, remove Jobs that are not of KubeNode from that namespace, or raise the ResourceQuota',
  },
  KN1414_render: {
    text: 'cannot render in Job {job}: its image cannot be pulled: {why}',
    next: 'check that nodes reach the registry and that the image exists; a private registry needs imagePullSecrets on the account kubenode-render of namespace kubenode-render',
  },
  KN7122_room: {
    text: 'cannot render in Job {job}: no node has room for its pod: {why}',
    next: 'add a node, or free memory and processor time on one',
  },
  KN1413_render: {
    text: 'cannot render in Job {job}: the cluster refuses its pod: {why}',
    next: 'let an admission policy of the platform pass pods of namespace kubenode-render as they are',
  },
  KN7126: {
    text: 'cannot render in Job {job}: its pod was ended from outside ({reason}): {why}',
    next: 'retried automatically; when it repeats, read the events of the node',
  },
  KN7126_failed: {
    text: 'cannot render in Job {job}: {why}',
    next: 'retried automatically',
  },
  KN7126_start: {
    text: 'cannot render in Job {job}: its program did not start: {why}',
    next: 'retried automatically; when it repeats, read the events of namespace kubenode-render',
  },
  KN7126_log: {
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
  KN7114_log: {
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
  KN7134_secret: {
    text: 'cannot decrypt the files of FleetSource {source}: Secret {secret} {why}',
    next: 'put the lines of age-keygen into its entry age.agekey',
  },
  KN7136: {
    text: 'has values that sops encrypted, and nothing decrypts them here',
    next: 'keep them in the Secret that was encrypted, and declare that with EncryptedSecret and its file',
  },
  KN7138: {
    text: 'cannot apply {file}: it {why}',
    next: 'encrypt it with a line CLUSTER/NAMESPACE/NAME for each place in its entry kubenode.for under stringData, such as prod-*/shop/db',
  },
  KN7137: {
    text: 'cannot decrypt the files of FleetSource {source}: this version does not know spec.decryption.provider {provider}',
    next: 'set it to {known}, or upgrade sync to the version of the definitions',
  },
})

const OF_THE_COMMIT: ReadonlySet<string> = new Set([
  'KN7102',
  'KN7102',
  'KN7103',
  'KN7107',
  'KN7109',
  'KN7111',
  'KN7112',
  'KN7117',
])

/** The commit itself is wrong: only another commit fixes it. */
export const isOfTheCommit = (code: string): boolean => OF_THE_COMMIT.has(code)
