// `kubenode run --roles …`: the long-running parts of KubeNode, each role with its own leader election.
import { Command, Option } from 'commander'
import type { Io } from '#lib/terminal/io.ts'
import { AGENT_IDENTITIES } from '#identity/token-life.ts'
import { DRIVERS } from '#programs/local/driver.ts'
import { RENDER_PLACES } from '#programs/run/render-place.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { runErrors } from '#programs/run/run-errors.ts'
import type { RunOptions } from '#programs/run/run-options.ts'
import { weakCageOption } from '../weak-cage.ts'
import { countOption } from '../counted-option.ts'

const collect = (value: string, before: readonly string[] = []): readonly string[] => [...before, value]

export function register(program: Command, io: Io): void {
  const command = program
    .command('run')
    .description(
      'run parts of KubeNode against a cluster: sync, controllers, approver, defender, cluster, artifacts, console',
    )
    .argument('[more...]', 'after --: the options of one more cluster, whose roles run in this process too')
  withOptions(command)
    .option(
      '--follow <file>',
      'JSON file with the options of further clusters, a list of lists as after --, which is read again as it changes: new ones start, missing ones end',
    )
    .action(async (more: readonly string[], options: FollowingOptions) => {
      const { follow, ...first } = options
      const others = groupsIn(more).map((args) => optionsIn(command, args))
      const isAlone = follow !== undefined && first.roles === undefined && others.length === 0
      const all = isAlone ? [] : [first, ...others].map(withRoles)
      const { runRoles } = await import('#programs/run/run-roles.ts')
      await runRoles(all, io, {
        logLevel: options.logLevel,
        ...(follow !== undefined && { follow: { file: follow, read: (args) => withRoles(optionsIn(command, args)) } }),
      })
    })
}

/** Only a process that follows a file may begin with no cluster at all, and so with no roles. */
type UncheckedOptions = Omit<RunOptions, 'roles'> & { readonly roles?: string }
type FollowingOptions = UncheckedOptions & { readonly follow?: string }

function withRoles(options: UncheckedOptions): RunOptions {
  const { roles } = options
  if (roles === undefined) throw new KubeNodeError(runErrors.KN1355())
  return { ...options, roles }
}

/** One for each `--`. */
function groupsIn(more: readonly string[]): readonly (readonly string[])[] {
  if (more.length === 0) return []
  const end = more.indexOf(SEPARATOR)
  return end < 0 ? [more] : [more.slice(0, end), ...groupsIn(more.slice(end + 1))]
}
const SEPARATOR = '--'

/** As the options of the command itself, which has the same ones. */
function optionsIn(command: Command, args: readonly string[]): UncheckedOptions {
  const other = withOptions(new Command(command.name()).copyInheritedSettings(command)).allowExcessArguments(false)
  return other.parse([...args], { from: 'user' }).opts<UncheckedOptions>()
}

function withOptions(command: Command): Command {
  command
    .option('--roles <list>', 'roles, joined by commas')
    .option(
      '--kubeconfig <file>',
      'kubeconfig of the cluster; ROLE=FILE, once for each role, when there are several; in a pod its own account when left out',
      collect,
    )
    .option('--shared-identity', 'let several roles act as one user; who gets that kubeconfig gets all their powers')
    .option('--context <name>', 'context of the kubeconfig')
    .option('--cluster <name>', 'name of the cluster in the fleet; the name of the context when left out')
  forHosts(command)
  forArtifacts(command)
  command
    .option('--trust <file>', 'trust document that agents start from')
    .option('--hub', 'Clusters are targets of this defender too')
    .option(
      '--control-planes <socket>',
      'socket of kubenode apiserver --control-planes, which runs the control planes of Clusters (role cluster)',
    )
    .option(
      '--control-plane-versions <file>',
      'versions of Kubernetes, each with its images by digest, of which control planes are run as workloads of this hub (role cluster)',
    )
  forConsole(command)
  forWebhook(command)
  forCalls(command)
  forApprover(command)
  forSync(command)
  forListeners(command)
  return command.addOption(
    new Option('--log-level <level>', 'lowest level that is logged')
      .choices(['debug', 'info', 'warn', 'error'])
      .default('info'),
  )
}

/** What hosts get, and who makes them. */
function forHosts(command: Command): void {
  command
    .option(
      '--providers <file>',
      'YAML or JSON file with the infra providers of this cluster and their options; only static when left out (role controllers)',
    )
    .option('--host-server <url>', 'how hosts reach the API server; as this program does when left out')
    .option('--host-ca <file>', 'authority that hosts verify the API server by; that of this program when left out')
    .option('--artifact-base <url>', 'where agents find artifacts with relative URLs')
    .option(
      '--join-script <sha256>',
      'digest of the join.sh there, as kubenode agent bundle prints it; for hosts that join',
    )
    .option(
      '--artifact-ca <file>',
      'authorities, in PEM, that hosts trust for artifacts and no others; those of role artifacts when left out',
    )
}

/** Role artifacts. */
function forArtifacts(command: Command): void {
  command
    .option(
      '--artifacts-folder <dir>',
      'what role artifacts serves; with --artifacts-oci, where it keeps what it brings',
    )
    .option(
      '--artifacts-oci <reference>',
      'OCI artifact that role artifacts serves, by digest; each layer is the file of its title',
    )
    .option(
      '--artifacts-listen <address:port>',
      'where role artifacts serves it; a free port of 127.0.0.1 when left out',
    )
    .option(
      '--artifacts-host <names>',
      'names and addresses, joined by commas, by which hosts reach role artifacts; its certificate has them',
    )
    .option('--artifacts-cert <file>', 'certificate of role artifacts, in PEM; one of an own authority when left out')
    .option('--artifacts-key <file>', 'key of that certificate, in PEM')
}

/** Role console. */
function forConsole(command: Command): void {
  command
    .option(
      '--console-config <file>',
      'JSON file with the ways in which people sign in to role console (docs/console.md)',
    )
    .option('--console-listen <address:port>', 'where role console serves it; a free port of 127.0.0.1 when left out')
}

/** The webhook of role defender. */
function forWebhook(command: Command): void {
  command
    .option('--webhook-host <host>', 'serve the webhook of the defender; the API server reaches it under this host')
    .option(
      '--webhook-service <name>',
      'serve the webhook of the defender on every replica; the API server reaches it through this Service, NAMESPACE/NAME, at its port 443',
    )
    .option('--webhook-listen <address>', 'address that the webhook listens on; 127.0.0.1 when left out')
    .addOption(new Option('--webhook-port <n>', 'port of the webhook; 0 takes a free one').default('0'))
    .addOption(
      new Option('--webhook-announce <file>', 'file to write the address and port of the webhook to while it is served').hideHelp(),
    )
    .option('--webhook-client-ca <file>', 'authority of the certificate that the API server sends to webhooks, if any')
}

/** Where rollout inspections, repairs and gates may call. */
function forCalls(command: Command): void {
  command
    .option(
      '--prometheus-url <url>',
      'Prometheus for rollout inspections and for gates of pipelines; disabled when left out',
    )
    .option(
      '--inspection-allow <origins>',
      'origins, joined by commas, that inspections and gates may query although they resolve to this host or a link-local address',
    )
    .option(
      '--call-allow <places>',
      'URL prefixes, joined by commas, that repair webhooks may call, and that notifications and tokens of gates are sent to, such as https://hooks.example.org/repairs; none when left out',
    )
}

/** Role approver. */
function forApprover(command: Command): void {
  command
    .option(
      '--certificate-life <duration>',
      'how long certificates of agents are valid, from 1h to 365d; 7d when left out (role approver)',
    )
    .addOption(
      new Option(
        '--agent-identity <form>',
        'what agents become that join from now on; serviceAccount where the cluster signs no certificates for them (role approver)',
      ).choices(AGENT_IDENTITIES),
    )
}

/** Role sync. */
function forSync(command: Command): void {
  command
    .option('--cache <dir>', 'where sync keeps copies of repositories', '.kubenode/git')
    .option(
      '--local-repository <folder>',
      'folder of this host whose repositories FleetSources may name with file://; NAMESPACE/NAME=FOLDER allows it to one of them; repeatable; none when left out',
      collect,
    )
    .addOption(
      new Option(
        '--rehearse <provider>',
        'rehearse the fleet on this machine, as kubenode local up does: clusters are embedded ones, pools are machines of this provider, waits between steps and stages are short',
      ).choices(DRIVERS),
    )
    .addOption(
      countOption(
        '--rehearse-nodes <n>',
        'machines of each pool in a rehearsal; as declared, at most 5, when left out',
      ),
    )
    .addOption(
      new Option('--max-repository <MiB>', 'bound of the copy of one repository, with all of its history').default(
        '1024',
      ),
    )
    .option(
      '--git-allow <hosts>',
      'git servers, as HOST or HOST:PORT and joined by commas, that FleetSources may name although they are on this host or a link-local address; none when left out',
    )
    .option(
      '--hooks-listen <address:port>',
      'where webhooks of git servers arrive, as plain HTTP behind an ingress; nowhere when left out (role sync)',
    )
    .addOption(weakCageOption())
    .addOption(
      new Option(
        '--render <place>',
        'where sync runs code of the fleet: in Jobs of its cluster or in a process of its machine; in a pod job when left out, else process',
      ).choices(RENDER_PLACES),
    )
    .option('--render-image <reference>', 'image of the Jobs: the one that this program runs from, by digest')
    .option(
      '--render-placement <json>',
      'nodeSelector and tolerations of the Jobs, as in the settings of an installation: {"nodeSelector":{},"tolerations":[]}',
    )
}

/** Where health and metrics are served. */
function forListeners(command: Command): void {
  command
    .addOption(
      new Option(
        '--metrics-port <n>',
        'port of /metrics, /healthz and /readyz on loopback; 0 takes a free one',
      ).default('0'),
    )
    .option(
      '--health-listen <address:port>',
      'address of the pod on which kubelet reads /healthz and /readyz; on loopback with --metrics-port when left out',
    )
    .option(
      '--metrics-listen <address:port>',
      'address of the pod on which /metrics is served over HTTPS, to those whom the API server lets get it',
    )
    .option('--metrics-insecure', 'serve /metrics at that address over plain HTTP, to everyone who reaches it')
    .option('--metrics-tls-cert <file>', 'certificate for /metrics; one shared in a Secret of the role when left out')
    .option('--metrics-tls-key <file>', 'its key')
    .option('--metrics-client-ca <file>', 'authority of client certificates that are accepted instead of tokens')
}
