// Options of other tools, and what does the same here. Data only.
import type { Advice } from './commands.ts'

const PLAN_ONLY: Advice = ['kubenode plan', 'a plan changes nothing; leave the option out']
const WORK_TREE: Advice = ['kubenode plan --dirty', 'it shows what the edits of the work tree change']
const ONE_CLUSTER: Advice = ['kubenode plan --cluster NAME', '']
const COMPONENT: Advice = ['kubenode logs machine/NAME COMPONENT', '']
const ONE_MACHINE: Advice = ['kubenode logs machine/NAME', 'logs are read from one machine at a time']
const CONTEXT: Advice = ['', 'write --context NAME; kubectl config get-contexts lists them']
const IDENTITY: Advice = ['', 'the identity is that of --kubeconfig FILE and --context NAME']
const NO_ROOT: Advice = ['', 'no option makes you root; agents act on their hosts']
const AT_ONCE: Advice = ['', 'how much runs at once is declared: docs/how-to/budget.md']
const PLAYBOOK: Advice = ['kubenode plan', 'run starts the programs of KubeNode']
const EVENTS_SHOWN: Advice = ['', 'its events are always shown; those alone: kubenode events --for KIND/NAME']
const WHERE_IT_IS: Advice = [
  '',
  'sources and releases are in namespace kubenode-system, machines and sets in none; leave the option out',
]
const NOT_NEEDED: Advice = ['', 'KubeNode needs no such option; leave it out']

/** Of one command: by its words, a space, and the long option. */
export const OPTION_HABITS: Readonly<Record<string, Advice>> = {
  'get --filename': ['kubenode lint FILE', ''],
  'get -R': NOT_NEEDED,
  'get --raw': ['kubectl get --raw PATH', ''],
  'get --template': ['kubenode get KIND -o jsonpath=TEMPLATE', ''],
  'get --all': ['', 'get shows every object of a kind; those of all namespaces with -A'],
  'get --output-watch-events': [
    '',
    'with --watch the row of a deleted object ends with (deleted); leave the option out',
  ],
  'get --timeout': ['kubenode watch --until-done --timeout 5m', 'get --watch ends by Ctrl-C'],
  'get --update': ['kubenode reconcile source/NAME', 'on the hub'],
  'get --cluster': CONTEXT,
  'get --dry-run': ['', 'get changes nothing; leave the option out'],
  'get --limit': ['kubenode get KIND NAME', 'or filter with -l'],
  'get --list-hosts': ['kubenode get machines -o name', ''],
  'get --status-selector': ['kubenode get KIND', 'no filter by status; see -o jsonpath=TEMPLATE'],
  'get -f': ['kubenode lint FILE', ''],
  'inventory --graph': ['kubenode tree set/NAME', ''],
  'inventory --host': ['kubenode describe machine/NAME', ''],
  'inventory --list': ['kubenode get machines', ''],
  'bootstrap --owner': ['kubenode bootstrap --git URL', ''],
  'bootstrap --url': ['kubenode bootstrap --git URL', ''],
  'diff -f': WORK_TREE,
  'diff -k': WORK_TREE,
  'diff --filename': WORK_TREE,
  'init --backend-config': NOT_NEEDED,
  'install --components': ['kubenode install --roles LIST', 'hub, business, or both, separated by a comma'],
  'inventory export -o': ['kubenode inventory export', 'it prints the inventory; write it to a file with > FILE'],
  'rules test --limit': ['kubenode rules test', 'each case names its own machine'],
  'init --upgrade': NOT_NEEDED,
  'logs --all-namespaces': ONE_MACHINE,
  'logs --selector': ONE_MACHINE,
  'logs -A': ONE_MACHINE,
  'logs -l': ONE_MACHINE,
  'logs --kind': ONE_MACHINE,
  'logs --level': ONE_MACHINE,
  'logs --previous': ['kubenode logs machine/NAME COMPONENT --since 1h', 'a log continues over restarts'],
  'logs --timestamps': COMPONENT,
  'logs -p': ['kubenode logs machine/NAME COMPONENT --since 1h', 'a log continues over restarts'],
  'plan --check': PLAN_ONLY,
  'plan --dry-run': PLAN_ONLY,
  'plan --extra-vars': ['kubenode plan --dirty', 'values are declared in the fleet; edit them there'],
  'plan -e': ['kubenode plan --dirty', 'values are declared in the fleet; edit them there'],
  'plan --list-tags': PLAN_ONLY,
  'plan --replace': ['kubenode repair node/NAME --reason WHY', 'what blocks it: kubenode why-not node/NAME'],
  'plan --skip-tags': ONE_CLUSTER,
  'plan --start-at-task': PLAN_ONLY,
  'plan --state': ['kubenode plan --base COMMIT', 'git is the state'],
  'plan --step': PLAN_ONLY,
  'plan --syntax-check': ['kubenode lint FOLDER', ''],
  'plan --destroy': ['kubenode plan --dirty', 'remove it in the work tree first; deletions are marked'],
  'plan --diff': PLAN_ONLY,
  'plan --limit': ONE_CLUSTER,
  'plan --list-hosts': ['kubenode plan --inventory FILE', 'it predicts machines; made by kubenode inventory export'],
  'plan --list-tasks': PLAN_ONLY,
  'plan --out': ['git push', 'a plan is not applied; it is of a commit, and the commit is what sync applies'],
  'plan --refresh': PLAN_ONLY,
  'plan --refresh-only': PLAN_ONLY,
  'plan --tags': ONE_CLUSTER,
  'plan --target': ONE_CLUSTER,
  'plan --var': ['kubenode plan --dirty', 'values are declared in the fleet; edit them there'],
  'plan --var-file': ['kubenode plan --dirty', 'values are declared in the fleet; edit them there'],
  'plan --filename': WORK_TREE,
  'plan -f': WORK_TREE,
  'plan -k': WORK_TREE,
  'plan -l': ONE_CLUSTER,
  'reconcile --with-source': ['kubenode reconcile source/NAME', 'a source is all there is to read'],
  'release status --hard-refresh': ['kubenode reconcile source/NAME', ''],
  'release status --refresh': ['kubenode reconcile source/NAME', ''],
  'repair --check': ['kubenode why-not node/NAME', 'it shows what blocks a repair and changes nothing'],
  'repair --dry-run': ['kubenode why-not node/NAME', 'it shows what blocks a repair and changes nothing'],
  'run --image': ['kubectl run', 'kubenode run starts the programs of KubeNode'],
  'watch --limit': ['kubenode watch set/NAME', ''],
  'run --check': PLAYBOOK,
  'run -l': PLAYBOOK,
  'run --limit': PLAYBOOK,
  'describe --events': EVENTS_SHOWN,
  'describe --show-events': EVENTS_SHOWN,
  'resume --wait': NOT_NEEDED,
  'version --short': NOT_NEEDED,
  'version --client': ['kubenode version', 'it shows this program only; a server: kubenode check'],
}

/** Options that a command has under another name; only where it has it. */
export const SAME_OPTION: Readonly<Record<string, string>> = {
  '--auto-approve': '--yes',
  '--check': '--dry-run',
  '--follow': '--watch',
  '--json': '--output json',
  '--label-selector': '--selector',
  '--limit': '--selector',
  '--watch': '--follow',
}

/** Of every command. */
export const ANY_OPTION: Readonly<Record<string, Advice>> = {
  '--chdir': ['kubenode plan --repo FOLDER', ''],
  '--as': IDENTITY,
  '--as-group': IDENTITY,
  '--ask-become-pass': NO_ROOT,
  '--ask-vault-pass': ['', 'secrets in git are decrypted by sync: docs/own-fleet.md'],
  '--become': NO_ROOT,
  '--chunk-size': NOT_NEEDED,
  '--compact-warnings': NOT_NEEDED,
  '--forks': AT_ONCE,
  '--grpc-web': NOT_NEEDED,
  '--input': NOT_NEEDED,
  '--insecure-skip-tls-verify': ['', 'servers are always verified; the authority is in the kubeconfig'],
  '--lock': NOT_NEEDED,
  '--no-color': ['', 'write --color never, or set NO_COLOR'],
  '--parallelism': AT_ONCE,
  '--request-timeout': NOT_NEEDED,
  '--server': CONTEXT,
  '--silent': ['', 'write --quiet'],
  '--sudo': NO_ROOT,
  '--token': IDENTITY,
  '--user': IDENTITY,
  '--v': ['', 'nothing is more verbose; kubenode why KIND/NAME explains'],
  '--verbose': ['', 'nothing is more verbose; kubenode why KIND/NAME explains'],
  '--namespace': WHERE_IT_IS,
  '--all-namespaces': WHERE_IT_IS,
  '-A': WHERE_IT_IS,
  '-K': NO_ROOT,
  '-b': NO_ROOT,
  '-i': ['', 'machines come from the server; see --kubeconfig FILE and --context NAME'],
  '-n': WHERE_IT_IS,
  '-m': ['kubenode get machines', 'agents run what git declares, and no modules'],
  '-s': CONTEXT,
  '-u': IDENTITY,
  '-v': ['', 'nothing is more verbose; kubenode why KIND/NAME explains'],
}
