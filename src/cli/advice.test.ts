// A habit from kubectl, Flux, Argo CD, Terraform or Ansible gets one line with what to type here, and that command exists.
import type { Command } from 'commander'
import { expect, test } from 'vitest'
import { buildProgram, run } from './program.ts'
import { HABITS } from './habits.ts'

const io = { out: () => undefined, err: () => undefined, cwd: '/nonexistent', env: {}, isTerminal: false }

async function told(line: string): Promise<string> {
  let err = ''
  expect(await run(line.split(' '), { ...io, err: (t) => void (err += t) })).toBe(2)
  return err
}

test.each([
  // kubectl
  ['status', '(type kubenode why; '],
  ['rollout undo set/base --to-revision=1', '(type kubenode rollback set/NAME; '],
  ['rollout pause set/base', '(type kubenode pause set/NAME --reason WHY; '],
  ['rollout restart set/base', '(type kubenode rollout retry set/NAME --reason WHY; '],
  [
    'help set',
    '(type kubenode get machinecomponentsets; set is a kind; its fields: kubectl explain machinecomponentsets)',
  ],
  ['help sync', '(type kubenode reconcile source/NAME; '],
  ['help rollout undo', '(type kubenode rollback set/NAME; '],
  ['ps', '(type kubenode get machines; '],
  ['get ms', 'type kubenode get machinesets;'],
  ['rollout status set base', '(type kubenode rollout status set/base)'],
  ['explain machine.spec', 'kubectl explain machines --api-version kubenode.io/v1alpha1'],
  ['apply -f a.yaml', '(type kubenode plan --dirty; '],
  ['auth can-i get machines', '(type kubectl auth can-i VERB machines.kubenode.io; '],
  ['cordon n-1', '(type kubectl cordon NAME; '],
  ['logs n-1 --timestamps', '(type kubenode logs machine/NAME COMPONENT)'],
  ['get machines -v=6', '(nothing is more verbose; '],
  ['get pods -A', 'type kubectl get pods;'],
  ['get events', 'type kubenode events;'],
  ['maintenance list -o json', '(type kubenode get maintenanceevents -o json; '],
  ['get machines --as=ada', '(the identity is that of --kubeconfig FILE and --context NAME)'],
  ['get machines --server=https://x', '(write --context NAME; '],
  ['get --raw /healthz', '(type kubectl get --raw PATH)'],
  ['scale machineset workers --replicas=5', '(type kubenode plan --dirty; first edit the size'],
  ['replace -f a.yaml', '(type kubenode plan --dirty; '],
  ['logs -l pool=workers', '(type kubenode logs machine/NAME; '],
  ['diff -f a.yaml', '(type kubenode plan --dirty; '],
  ['whoami', '(type kubectl auth whoami; '],
  ['get secrets', 'type kubectl get secrets;'],
  ['rollout status deployment/base', 'type kubectl get deployments;'],
  ['get machines --timeout 5s', '(type kubenode watch --until-done --timeout 5m; '],
  ['get machines --all', '(get shows every object of a kind; '],
  ['get set base --output-watch-events', 'leave the option out)'],
  ['inventory export -o x', '(type kubenode inventory export; '],
  ['rules test --limit x', '(type kubenode rules test; '],
  ['init -backend-config=x', '(KubeNode needs no such option; '],
  ['get -update', '(type kubenode reconcile source/NAME; '],
  ['envsubst', '(type kubenode plan; '],
  ['install --components=a', '(type kubenode install --roles LIST; '],
  ['get image policy', 'type kubenode get components;'],
  ['get applicationsets', 'type kubenode get pipelines;'],
  ['diff artifact oci://x', '(type kubenode plan --dirty; '],
  ['get cs', 'type kubenode check;'],
  ['ctx', '(type kubectl config get-contexts; '],
  ['use-context a', '(type kubectl config use-context NAME; '],
  ['run site.yml', '(type kubenode plan; '],
  ['get sync', 'type kubenode get sources;'],
  ['plan -f a.yaml', '(type kubenode plan --dirty; '],
  ['plan -k overlays/prod', '(type kubenode plan --dirty; '],
  ['get sets -o go-template={{.x}}', "; type kubectl get machinecomponentsets.kubenode.io -o 'go-template={{.x}}'\n"],
  ['get sets -o jsonpath', '; type kubectl get machinecomponentsets.kubenode.io -o jsonpath=TEMPLATE\n'],
  ['get sets -o tree', 'Type kubenode tree KIND/NAME'],
  ['undo', '(type kubenode rollback set/NAME; '],
  ['rollback base --to-revision 1', '(here it is --to REVISION)'],
  ['why set/base --timeout 5s', '(type kubenode watch --until-done --timeout 5m; '],
  ['get rel', 'type kubenode get releases;'],
  ['freeze --dry-run', '(it creates one hold, '],
  ['events --since 5m', '(the server keeps events for about an hour, '],
  ['events -o json', '(type kubectl get events -A -o json)'],
  ['local status -o json', '(type kubenode release status -o json; '],
  ['provider list', '(type kubenode get machinesets; '],
  // Flux
  ['get sources --export', '(type kubenode get KIND -o yaml)'],
  ['bootstrap github --owner=me', '(type kubenode bootstrap --git URL)'],
  ['diff ks fleet', '(type kubenode plan --dirty; '],
  ['diff kustomization fleet --path .', '(type kubenode plan --dirty; '],
  ['get source git fleet', 'type kubenode get source fleet;'],
  ['get sources git', 'type kubenode get sources;'],
  ['get hr -A', 'type kubenode get releases;'],
  ['get alerts', 'type kubenode get pipelines;'],
  ['pull artifact x', '(type git pull; '],
  ['uninstall --silent', '(write --quiet)'],
  ['reconcile source git fleet', '(type kubenode reconcile source/fleet)'],
  ['suspend source fleet --reason a', '(type kubenode pause source/fleet)'],
  ['reconcile source/fleet --with-source', '(type kubenode reconcile source/NAME; '],
  ['resume kustomization apps', '(type kubenode resume source/NAME; '],
  ['suspend ks apps --reason a', '(type kubenode pause source/NAME; '],
  ['reconcile kustomization apps', '(type kubenode reconcile source/NAME; '],
  ['get kustomizations', 'type kubenode get releases;'],
  // Argo CD
  ['app sync fleet --prune', '(type kubenode reconcile source/NAME; '],
  ['app unheard fleet', '(type kubenode get releases; '],
  ['app rollback fleet 1', '(type git revert COMMIT; '],
  ['appset list', '(type kubenode get pipelines; '],
  ['cluster rm prod', '(type git revert COMMIT; '],
  ['cluster add', '(type kubenode install --context NAME --dry-run; kubectl config get-contexts lists'],
  ['dashboard', '(type kubenode console; '],
  ['cluster get prod', '(type kubenode cluster show NAME; '],
  ['reconcile source git fleet -n flux-system', '(sources and releases are in namespace kubenode-system'],
  ['describe machine m-1 --show-events=false', '(its events are always shown; '],
  ['app actions run fleet restart', '(type kubenode repair node/NAME --reason WHY; '],
  ['app edit fleet', '(type kubenode plan --dirty; '],
  ['promote', '(type kubenode release promote NAME --reason WHY; '],
  ['abort release', '(type kubenode release abort NAME --reason WHY; '],
  ['retry release', '(type kubenode release retry NAME --reason WHY; '],
  ['rollouts list', '(type kubenode get sets; '],
  ['rollout promote base', '(type kubenode approve permit/NAME --reason WHY; '],
  ['logout localhost', '(type kubectl auth whoami; '],
  // Terraform
  ['plan --dry-run', '(type kubenode plan; '],
  ['plan -replace=x', '(type kubenode repair node/NAME --reason WHY; '],
  ['plan -state=x', '(type kubenode plan --base COMMIT; '],
  ['machine show x', '(type kubenode describe machine/NAME)'],
  ['modules', '(type kubenode get sets)'],
  ['plan HEAD~1', 'write HEAD~1..HEAD; for what that commit itself changed, HEAD~1~1..HEAD~1'],
  ['plan -out=tf.plan', '(type git push; '],
  ['plan -detailed-exitcode', '(write --detailed-exitcode, with two dashes)'],
  ['plan -refresh=false', '(type kubenode plan; '],
  ['plan -json', '(here it is --output json)'],
  ['plan -target=machine.x', '(type kubenode plan --cluster NAME)'],
  ['upgrade -auto-approve', '(here it is --yes)'],
  ['-help', '(write --help, with two dashes)'],
  ['state list', '(type kubenode get machines; '],
  ['destroy -auto-approve', '(type git revert COMMIT; '],
  ['machine join n-1', '(type kubenode machine join-command NAME; '],
  ['join n-1', '(type kubenode machine join-command NAME; '],
  ['machine leave n-1', '(type kubectl delete machines.kubenode.io NAME; '],
  ['drift', '(type kubenode why set/NAME; '],
  ['diff --stat', '(type kubenode plan; '],
  ['history --limit 2', '(type kubenode history; '],
  ['prune', '(type kubenode plan --dirty; objects that git no longer declares '],
  ['health', '(type kubenode get releases,clusters; '],
  ['release terminate', '(type kubenode release abort NAME --reason WHY)'],
  ['cluster delete test', '(type git revert COMMIT; '],
  ['cluster upgrade test', '(type kubenode plan --dirty; first edit spec.version '],
  // Ansible
  ['repair node/n-1 --check', "unknown option '--check'\n(type kubenode why-not node/NAME; "],
  ['pause set/base --check', "unknown option '--check'\n(it creates one hold, "],
  ['rollout status base --limit x', '(name the objects instead, as KIND/NAME)'],
  ['get machines -e x=y', '(type kubenode plan --dirty; '],
  ['rules test --tags x', '(name the objects instead, as KIND/NAME)'],
  ['rules lint .', '(the folder of rules is written --dir FOLDER)'],
  ['install nginx', '(type kubenode get components; '],
  ['update', '(type kubenode upgrade; '],
  ['script a.sh', '(type kubenode logs machine/NAME COMPONENT; '],
  ['plan --become', '(no option makes you root; '],
  ['plan --forks 10', '(how much runs at once is declared: '],
  ['plan --syntax-check', '(type kubenode lint FOLDER)'],
  ['plan -e x=y', '(type kubenode plan --dirty; '],
  ['repair n-1 --reason x --check', '(type kubenode why-not node/NAME; '],
  ['watch --limit x', '(type kubenode watch set/NAME)'],
  ['command n-1 uptime', '(type kubenode logs machine/NAME COMPONENT; '],
  ['gather-facts', '(type kubenode describe KIND/NAME; '],
  ['maintenance on n-1', '(type kubenode maintenance --help; '],
  ['import n-1 --check', '(here it is --dry-run)'],
  ['adopt n-1 --check', '(here it is --dry-run)'],
  ['plan --check --diff', '(type kubenode plan; '],
  ['plan -vvv', '(nothing is more verbose; '],
  ['run site.yml -l workers --check', '(type kubenode plan; '],
  ['systemctl restart beacon', '(type kubenode repair node/NAME --reason WHY; where a rule is true; '],
  ['reboot n-1', '(type kubenode maintenance plan machine/NAME --until TIME --reason WHY; '],
  ['all -m ping', '(type kubenode get machines; '],
  ['setup n-1', '(type kubenode describe KIND/NAME; '],
  ['--syntax-check', '(type kubenode lint FOLDER)'],
  ['--list-hosts', '(type kubenode get machines -o name)'],
  ['check --diff', '(type kubenode plan; '],
  ['ls', '(type kubenode get machines; '],
  ['info', '(type kubenode describe KIND/NAME; '],
  ['releases', '(type kubenode get releases)'],
  ['sources', '(type kubenode get sources)'],
  ['sets', '(type kubenode get sets)'],
  ['clusters', '(type kubenode get clusters)'],
  ['canary list', '(type kubenode get componentcanaries)'],
  ['local stop', '(Ctrl-C where npm start runs; '],
  ['local down', '(Ctrl-C where npm start runs; '],
  ['simulate --cluster test', '(write --fleet-cluster NAME, '],
  ['simulate --context test', '(type kubenode simulate --inventory FILE; '],
  ['simulate --what-if zone-los', 'is invalid. Allowed choices are undisturbed, '],
  ['diff --dirty', '(type kubenode plan --dirty; '],
  ['diff --base main', '(type kubenode diff BASE..HEAD)'],
  ['tree base -o json', '(type kubenode get KIND/NAME -o json)'],
  ['suspend source/fleet --reason x --until 23:59', '(here it is --for DURATION)'],
  ['rollout status base --watch=false', '(--watch takes no value; leave it out)'],
  ['release history --limit 1', '(type kubenode release history TRACK; '],
  ['get machines --watch=true', '(--watch takes no value; write it alone)'],
  // Server options before the words do not hide the advice.
  ['--context test rollout undo set/base', '(type kubenode rollback set/NAME; '],
  ['--context test edit set/base', '(type kubenode plan --dirty; '],
  ['-n flux-system --kubeconfig /nope cordon n-1', '(type kubectl cordon NAME; '],
  ['--context test diff -f a.yaml', '(type kubenode plan --dirty; '],
])('kubenode %s says %s', async (line, advice) => {
  expect(await told(line)).toContain(advice)
})

test.each(['constructor', 'toString', 'rollout valueOf', 'get machines --constructor', 'get constructor'])(
  'kubenode %s gets no advice',
  async (line) => expect(await told(line)).not.toMatch(/\(type|; type|native code/),
)

test.each([
  ['get machines --foo', '(run kubenode get --help)'],
  ['nonsense', '(run kubenode --help)'],
])('the complaint about kubenode %s ends with the help of that command', async (line, next) => {
  expect(await told(line)).toMatch(new RegExp(`\\n${RegExp.escape(next)}\\n$`))
})

test.each([
  ['suspend', "kubenode pause set/NAME --reason 'WHY'"],
  ['pause set/base', "kubenode pause set/base --reason 'WHY'"],
  ['suspend source fleet', "kubenode pause source/fleet --reason 'WHY'"],
  ['suspend source git fleet', "kubenode pause source/fleet --reason 'WHY'"],
  ['suspend all', "kubenode pause KIND/NAME --reason 'WHY'"],
  ['suspend deployment web', "kubenode pause KIND/web --reason 'WHY'"],
  ['bootstrap github', 'kubenode bootstrap --git URL'],
  ['release diff', 'kubenode release diff NAME'],
  ['release retry', "kubenode release retry NAME --reason 'WHY'"],
  ['freeze node/n-1 --for 1h', "kubenode freeze node/n-1 --reason 'WHY'"],
  ['maintenance plan', "kubenode maintenance plan machine/NAME --until TIME --reason 'WHY'"],
  ['maintenance plan rack r1', "kubenode maintenance plan rack r1 --until TIME --reason 'WHY'"],
  ['approve', 'kubenode approve operationpermit/NAME'],
  ['completion', 'kubenode completion bash'],
  ['repair n-1', "kubenode repair machine/n-1 --reason 'WHY'"],
  ['pause base', "kubenode pause set/base --reason 'WHY'"],
  ['pause release', "kubenode pause release/NAME --reason 'WHY'"],
  ['suspend kustomization fleet', "kubenode pause source/fleet --reason 'WHY'"],
])('the complaint about kubenode %s ends with a line that lacks nothing: %s', async (line, example) => {
  expect(await told(line)).toContain(`--help)\n(for example: ${example})\n`)
})

test('where an unknown option has advice, no example of the real command follows', async () => {
  expect(await told('repair node/n-1 --check')).not.toContain('for example')
})

test('a guess by spelling stays where no habit is known', async () => {
  expect(await told('gte machines')).toContain('(Did you mean get?)')
})

test.each(['zygote', 'zygote install x'])('kubenode %s gets no guess, since none is near', async (line) => {
  expect(await told(line)).toMatch(/^KN1002: unknown command 'zygote'\n\(run kubenode --help\)\n$/)
})

const TREE = await buildProgram(io)
const below = (command: Command, word: string): Command | undefined =>
  command.commands.find((c) => c.name() === word || c.aliases().includes(word))
const find = (words: readonly string[]): Command | undefined =>
  words.reduce<Command | undefined>((command, word) => command && below(command, word), TREE)

const LINES = Object.values(HABITS)
  .flat()
  .flatMap((text) => text.match(/kubenode [a-z-]+[^;:,]*/g) ?? [])
const ROWS = Object.keys(HABITS).map((key) => key.split(' '))
const isOption = (words: readonly string[]): boolean => words.at(-1)?.startsWith('-') === true
const standsForWords = (words: readonly string[]): boolean => words.some((word) => /^[A-Z]+$/.test(word))

test.each([...new Set(LINES)])('what is advised exists: %s', (line) => {
  const words = line.split(' ').slice(1)
  let command = TREE
  while (words[0] !== undefined && below(command, words[0]) !== undefined)
    command = below(command, words.shift() ?? '') ?? command
  const known = [...command.options, ...TREE.options].flatMap((o) => [o.long, o.short, '--help'])
  expect([
    command === TREE && words[0] !== '--help',
    words.filter((w) => w.startsWith('-') && !known.includes(w)),
  ]).toEqual([false, []])
})

test('no habit hides a command or an option that exists', () => {
  const own = ROWS.filter((words) => !standsForWords(words))
  expect(own.filter((words) => !isOption(words) && find(words) !== undefined)).toEqual([])
  const ofWords = ROWS.filter((words) => words.at(-1) === 'WORD')
  expect(ofWords.filter((words) => find(words.slice(0, -1)) === undefined)).toEqual([])
  const options = own.filter(isOption)
  expect(options.filter((words) => find(words.slice(0, -1)) === undefined)).toEqual([])
  expect(
    options.filter((words) =>
      find(words.slice(0, -1))?.options.some((o) => [o.long, o.short].includes(words.at(-1) ?? '')),
    ),
  ).toEqual([])
  const taken = new Set(commandsBelow(TREE).flatMap((c) => c.options.map((o) => o.long)))
  const same = ROWS.filter(([first]) => first === 'SAME').map((words) => HABITS[words.join(' ')]?.[0])
  expect(same.filter((o) => !taken.has(o?.split(' ')[0]))).toEqual([])
})

function commandsBelow(command: Command): readonly Command[] {
  return command.commands.flatMap((c) => [c, ...commandsBelow(c)])
}
