// The options of `kubenode run`: the cluster, its roles, and what roles serve or call. Options of hosts, sync and the approver are in `run-role-options.ts`.
import { repeated } from '#lib/flags.ts'
import { Option, type Command } from 'commander'
import { countOption } from '../../counted-option.ts'
import { forApprover, forHosted, forHosts, forListeners, forSync } from './run-role-options.ts'

export function withOptions(command: Command): Command {
  command
    .option('--roles <list>', 'roles, joined by commas')
    .option(
      '--kubeconfig <file>',
      'kubeconfig of the cluster; ROLE=FILE, once for each role, when there are several; in a pod its own account when left out',
      repeated,
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
  forHosted(command)
  forHistory(command)
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

/** The artifacts role. */
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

/** The history role. */
function forHistory(command: Command): void {
  command
    .option('--history <dir>', 'where role history writes what happens, one file for each cluster')
    .addOption(countOption('--history-days <n>', 'days that are kept in full; 400 when left out (role history)'))
    .addOption(
      countOption(
        '--history-size <GiB>',
        'size of the history of one cluster; beyond it the oldest days are summed up and dropped; 4 when left out (role history)',
      ),
    )
}

/** The console role. */
function forConsole(command: Command): void {
  command
    .option(
      '--console-config <file>',
      'JSON file with the ways in which people sign in to role console (docs/operations/console.md)',
    )
    .option('--console-listen <address:port>', 'where role console serves it; a free port of 127.0.0.1 when left out')
}

/** The Defender's webhook. */
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
      new Option(
        '--webhook-announce <file>',
        'file to write the address and port of the webhook to while it is served',
      ).hideHelp(),
    )
    .option('--webhook-client-ca <file>', 'authority of the certificate that the API server sends to webhooks, if any')
}

/** Allowed targets of rollout inspections, repairs and gates. */
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
