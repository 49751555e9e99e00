// `kubenode cluster list | show | extend | recipe | kubeconfig`: a hub's Clusters, their expiry, their addons, and access to them.
import { Option, type Command } from 'commander'
import { systemClock } from '#lib/system-clock.ts'
import { formatAge } from '#lib/duration.ts'
import { shownLine, shownLines } from '#lib/printable.ts'
import type { KubeClient } from '#kube/client.ts'
import type { ExtensionReason } from './extension.ts'
import type { RecipeAsked } from './recipe.ts'
import { type Form, formOption } from '../../get/form.ts'
import { WHOLE_FORMS, type WholeForm } from '../../get/whole.ts'
import { nameOfKind } from '../../fleet/name-word.ts'
import type { Io } from '#lib/terminal/io.ts'
import { outputOption } from '../../output.ts'
import {
  type NamespaceOptions,
  type ServerOptions,
  connectionTo,
  withNamespace,
  withServer,
} from '../../fleet/connect.ts'

interface PlaceOptions extends ServerOptions, NamespaceOptions {}

interface ListOptions extends PlaceOptions {
  readonly allNamespaces?: boolean
  readonly output?: Form
}

interface ShowOptions extends PlaceOptions {
  readonly output?: WholeForm
}

interface ExtendOptions extends PlaceOptions, ExtensionReason {
  readonly reason: string
}

interface KubeconfigOptions extends PlaceOptions {
  readonly admin?: boolean
}

const withCluster = (command: Command): Command =>
  withNamespace(withServer(command)).argument('<name>', 'name of the Cluster', nameOfKind('cluster'))

export function register(program: Command, io: Io): void {
  const group = program.command('cluster').description('clusters of the hub: list, show, extend, reach them')
  withNamespace(withServer(group.command('list')))
    .description('list clusters, as kubenode get clusters')
    .option('-A, --all-namespaces', 'the objects of all namespaces')
    .addOption(formOption())
    .action(async (options: ListOptions) =>
      (await import('../../get/get.ts')).get(['clusters'], { ...options, headers: true }, io),
    )
  withCluster(group.command('show'))
    .description('show one cluster: versions, end, extensions and limits, snapshots, where its kubeconfig is')
    .addOption(outputOption(WHOLE_FORMS))
    .action((name: string, options: ShowOptions) => show(name, options, io))
  withCluster(group.command('extend'))
    .description('let a cluster with a time to live expire later; brings an expired one back while git declares it')
    .addOption(new Option('--for <duration>', 'how much later than now planned, or from now if it expired'))
    .option('--until <time>', 'when it expires instead')
    .requiredOption('--reason <why>', 'why, shown with the cluster')
    .action((name: string, options: ExtendOptions) => extend(name, options, io))
  group
    .command('recipe')
    .description('print the ConfigMap of an addon of your own, which an administrator applies to the hub')
    .argument('<addon>', 'name of the addon, as Clusters name it')
    .argument('<version>', 'its version')
    .requiredOption('-f, --filename <file>', 'its manifests; - reads a pipe')
    .requiredOption('--kubernetes <minors>', 'minors of Kubernetes that it is for: 1.36, or 1.34-1.36')
    .addOption(
      new Option('--image <old=new>', 'another image, such as one of a mirror, with a digest; repeatable').argParser(
        (text: string, before: readonly string[] | undefined) => [...(before ?? []), text],
      ),
    )
    .option('--after-nodes', 'another version is applied once no kubelet is older than the API server')
    .action(async (addon: string, version: string, options: Omit<RecipeAsked, 'addon' | 'version'>) =>
      (await import('./recipe.ts')).printRecipe({ addon, version, ...options }, io),
    )
  withCluster(group.command('kubeconfig'))
    .description('print the kubeconfig that sync has for a cluster, with the identity of sync; a secret')
    .option('--admin', 'that of the administrator of a cluster of flavor kubernetes instead')
    .action((name: string, options: KubeconfigOptions) => kubeconfig(name, options, io))
}

async function placeOf(options: PlaceOptions, io: Io) {
  const { shownNamespace } = await import('#explain/objects/find-object.ts')
  const { client, namespace } = await connectionTo(options, io)
  return { client, namespace: shownNamespace(options.namespace, namespace) }
}

async function found(name: string, options: PlaceOptions, io: Io) {
  const [{ findObject }, { cluster }] = await Promise.all([
    import('#explain/objects/find-object.ts'),
    import('#api/kinds/cluster.ts'),
  ])
  const { client, namespace } = await placeOf(options, io)
  return { client, cluster: await findObject(client, cluster, { name, namespace }) }
}

/** Holds and policies that determine when a cluster expires. */
async function limitsOn(client: KubeClient) {
  const [{ listAll }, { operationalHold }, { defenderPolicy }] = await Promise.all([
    import('#kube/list-all.ts'),
    import('#api/kinds/operational-hold.ts'),
    import('#api/kinds/defender-policy.ts'),
  ])
  const [holds, policies] = await Promise.all([listAll(client, operationalHold), listAll(client, defenderPolicy)])
  return { holds, policies }
}

async function show(name: string, { output, ...options }: ShowOptions, io: Io): Promise<void> {
  const { client, cluster } = await found(name, options, io)
  if (output !== undefined) {
    const [{ printWhole }, { withoutManagers }] = await Promise.all([
      import('../../get/whole.ts'),
      import('../../get/without-managers.ts'),
    ])
    return printWhole(io, output, withoutManagers(cluster))
  }
  const { clusterLines } = await import('#explain/shown-cluster.ts')
  io.out(shownLines(clusterLines({ cluster, ...(await limitsOn(client)) }, systemClock.now())))
}

async function extend(name: string, options: ExtendOptions, io: Io): Promise<void> {
  const [{ extension, wantedEnd }, { placeHold }, { authorOf }] = await Promise.all([
    import('./extension.ts'),
    import('#permits/holds/placing.ts'),
    import('../../current-person.ts'),
  ])
  const wanted = wantedEnd(options, systemClock.now())
  const { client, cluster } = await found(name, options, io)
  const given = { reason: options.reason, author: await authorOf(client, io) }
  const now = systemClock.now()
  const { hold, before } = extension({ cluster, ...(await limitsOn(client)) }, wanted, given, now)
  const { metadata, spec } = await placeHold(client, hold)
  const end = Date.parse(spec.until)
  io.out(
    shownLine(
      `cluster/${name} expires at ${spec.until} (in ${formatAge(end - now)}) instead of ${before}: ${spec.reason} (operationalhold/${metadata.name})`,
    ),
  )
  if (cluster.status?.phase === 'Expired') io.err('the control plane starts again with its data\n')
}

async function kubeconfig(name: string, { admin, ...options }: KubeconfigOptions, io: Io): Promise<void> {
  const { printKubeconfig } = await import('../../fleet/cluster-kubeconfig.ts')
  const { client, cluster } = await found(name, options, io)
  await printKubeconfig(client, cluster, { isAdmin: admin === true }, io)
}
