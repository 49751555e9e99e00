// Options of other tools, and what does the same here. Data only.
import type { Advice } from './commands.ts'

const PLAN_ONLY: Advice = ['kubenode plan', 'a plan changes nothing; leave the option out']
const ONE_CLUSTER: Advice = ['kubenode plan --cluster NAME', '']
const COMPONENT: Advice = ['kubenode logs machine/NAME COMPONENT', '']
const ONE_MACHINE: Advice = ['kubenode logs machine/NAME', 'logs are read from one machine at a time']
const NOT_NEEDED: Advice = ['', 'KubeNode needs no such option; leave it out']

/** Of one command: by its words, a space, and the long option. */
export const OPTION_HABITS: Readonly<Record<string, Advice>> = {
  'get --filename': ['kubenode lint FILE', ''],
  'get --limit': ['kubenode get KIND NAME', 'or filter with -l'],
  'get --list-hosts': ['kubenode get machines -o name', ''],
  'get --status-selector': ['kubenode get KIND', 'no filter by status; see -o jsonpath=TEMPLATE'],
  'get -f': ['kubenode lint FILE', ''],
  'inventory --graph': ['kubenode tree set/NAME', ''],
  'inventory --host': ['kubenode describe machine/NAME', ''],
  'inventory --list': ['kubenode get machines', ''],
  'logs --all-namespaces': ONE_MACHINE,
  'logs --kind': ONE_MACHINE,
  'logs --level': ONE_MACHINE,
  'logs --previous': ['kubenode logs machine/NAME COMPONENT --since 1h', 'a log continues over restarts'],
  'logs --timestamps': COMPONENT,
  'logs -p': ['kubenode logs machine/NAME COMPONENT --since 1h', 'a log continues over restarts'],
  'plan --check': PLAN_ONLY,
  'plan --destroy': ['kubenode plan --dirty', 'remove it in the work tree first; deletions are marked'],
  'plan --diff': PLAN_ONLY,
  'plan --limit': ONE_CLUSTER,
  'plan --list-hosts': ['kubenode plan --inventory FILE', 'it predicts machines; made by kubenode inventory export'],
  'plan --list-tasks': PLAN_ONLY,
  'plan --out': ['git push', 'a plan is not applied; it is of a commit, and the commit is what sync applies'],
  'plan --refresh-only': PLAN_ONLY,
  'plan --tags': ONE_CLUSTER,
  'plan --target': ONE_CLUSTER,
  'plan --var': ['kubenode plan --dirty', 'values are declared in the fleet; edit them there'],
  'plan --var-file': ['kubenode plan --dirty', 'values are declared in the fleet; edit them there'],
  'plan -l': ONE_CLUSTER,
  'reconcile --with-source': ['kubenode reconcile source/NAME', 'a source is all there is to read'],
  'release status --hard-refresh': ['kubenode reconcile source/NAME', ''],
  'release status --refresh': ['kubenode reconcile source/NAME', ''],
  'run --check': ['kubenode plan', 'run starts the programs of KubeNode'],
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
  '--compact-warnings': NOT_NEEDED,
  '--input': NOT_NEEDED,
  '--lock': NOT_NEEDED,
  '--no-color': ['', 'write --color never, or set NO_COLOR'],
  '--parallelism': ['', 'how much runs at once is declared: docs/how-to/budget.md'],
  '--request-timeout': NOT_NEEDED,
  '--verbose': ['', 'nothing is more verbose; kubenode why KIND/NAME explains'],
  '-i': ['', 'machines come from the server; see --kubeconfig FILE and --context NAME'],
  '-v': ['', 'nothing is more verbose; kubenode why KIND/NAME explains'],
}
