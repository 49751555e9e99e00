// Options of what hosts get, of the approver and sync, and of the health and metrics endpoints.
import { ARTIFACT_TRUST } from '#programs/roles/config.ts'
import { repeated } from '#lib/flags.ts'
import { Option, type Command } from 'commander'
import { AGENT_IDENTITIES } from '#identity/token-life.ts'
import { DRIVERS } from '#programs/local/driver.ts'
import { RENDER_PLACES } from '#programs/run/render-place.ts'
import { countOption } from '../../counted-option.ts'
import { weakCageOption } from '../../weak-cage.ts'

/** The approver role. */
export function forApprover(command: Command): void {
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

/** The sync role. */
export function forSync(command: Command): void {
  command
    .option('--cache <dir>', 'where sync keeps copies of repositories', '.kubenode/git')
    .option(
      '--local-repository <folder>',
      'folder of this host whose repositories FleetSources may name with file://; NAMESPACE/NAME=FOLDER allows it to one of them; repeatable; none when left out',
      repeated,
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

/** The hosted role, and what role cluster gives it. */
export function forHosted(command: Command): void {
  command
    .option('--host-programs', 'make kubeconfigs for the programs that role hosted runs for Clusters (role cluster)')
    .option(
      '--programs-in-clusters <file>',
      'objects with which these programs run in a Cluster that wants them there, as JSON (role cluster)',
    )
    .option(
      '--hosted <program>',
      'which program role hosted runs for the Clusters of this hub: controllers, approver or defender',
    )
    .addOption(
      countOption(
        '--hosted-per-process <n>',
        'Clusters of one namespace that share a process; 10 when left out (role hosted)',
      ),
    )
    .addOption(countOption('--hosted-heap <MiB>', 'heap of each of these processes; 384 when left out (role hosted)'))
    .addOption(new Option('--hosted-logs <dir>', 'folder for the output of these processes').hideHelp())
}

/** Where to serve health and metrics. */
export function forListeners(command: Command): void {
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
    .addOption(
      new Option(
        '--metrics-announce <dir>',
        'folder to write the port on loopback to, for a Prometheus of this host',
      ).hideHelp(),
    )
    .option('--metrics-client-ca <file>', 'authority of client certificates that are accepted instead of tokens')
}

/** What hosts get, and which providers create them. */
export function forHosts(command: Command): void {
  command
    .option(
      '--providers <file>',
      'YAML or JSON file with the infra providers of this cluster and their options; only static when left out (role controllers)',
    )
    .option('--providers-shared', 'other clusters use them too: only hosts of own Machines count (role controllers)')
    .option('--host-server <url>', 'how hosts reach the API server; as this program does when left out')
    .option('--host-ca <file>', 'authority that hosts verify the API server by; that of this program when left out')
    .option('--artifact-base <url>', 'where agents find artifacts with relative URLs')
    .option('--join-script <sha256>', 'digest of its join.sh, as kubenode agent bundle prints it; for hosts that join')
    .option(
      '--artifact-ca <file>',
      'authorities, in PEM, that hosts trust for artifacts and no others; of role cluster, hosts of Clusters',
    )
    .addOption(
      new Option(
        '--artifact-trust <whose>',
        'without --artifact-ca: servers, those of role artifacts of this cluster, as when left out; host, those that each host trusts anyway',
      ).choices(ARTIFACT_TRUST),
    )
}
