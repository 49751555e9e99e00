// What a release ships for those who install with kubectl or kustomize: one file that applies in one go, and the same objects as a base with a component that
// sets what differs from cluster to cluster.
import { stringify } from 'yaml'
import { KINDS } from '#api/kinds.ts'
import { crdOf } from '#api/crd.ts'
import { VERSION } from '#lib/program-version.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { argsOf } from './programs.ts'
import { installObjects } from './install.ts'
import { readSettings, workloadsOf, type InstallSettings, type InstallValues } from './settings.ts'

export const INSTALL_FILE = 'deploy/install.yaml'
export const KUSTOMIZE_DIRECTORY = 'deploy/kustomize'
export const SETTINGS_COMPONENT = `${KUSTOMIZE_DIRECTORY}/settings`
/** Has the values of the component; kustomize does not apply it. */
const SETTINGS_MAP = 'kubenode-settings'

/** kubectl reads YAML 1.1, where a bare Off or Yes is no text but a boolean. */
const FORM = { lineWidth: 0, aliasDuplicateObjects: false, compat: 'yaml-1.1' } as const
const HEAD = '# Generated from deploy/charts by npm run gen.\n'
const NO_DIGEST = '0'.repeat(64)

/** No host of these names exists: forgotten, they fail by name. */
const PLACEHOLDERS = {
  cluster: 'set-the-cluster',
  image: `set-the-image.invalid/kubenode@sha256:${NO_DIGEST}`,
  apiServer: 'https://set-the-api-server.invalid:6443',
  artifacts: 'set-the-artifacts.invalid',
} as const

const VALUES: InstallValues = {
  cluster: PLACEHOLDERS.cluster,
  version: VERSION,
  image: PLACEHOLDERS.image,
  apiServer: { url: PLACEHOLDERS.apiServer },
  artifacts: { source: { claim: 'kubenode-artifacts' }, address: PLACEHOLDERS.artifacts },
}

/** A hub that is a member of its own fleet, with placeholders. */
export function releasedSettings(): InstallSettings {
  const read = readSettings(structuredClone(VALUES))
  if (read.kind === 'Value') return read.value
  throw new Error(`the settings of a release: ${read.problems.map((p) => `${p.pointer} ${p.message}`).join('; ')}`)
}

const yamlOf = (objects: readonly unknown[]): string => HEAD + objects.map((o) => stringify(o, FORM)).join('---\n')

/** An empty Secret waits for a program to fill it: it is part of the cluster, before the workloads. */
const isEmptySecret = (o: KubeObject): boolean => o.kind === 'Secret' && !('data' in o) && !('stringData' in o)

const isWorkload = (o: KubeObject): boolean =>
  o.metadata.namespace !== undefined &&
  ['Deployment', 'Service', 'PodDisruptionBudget', 'Secret'].includes(o.kind) &&
  !isEmptySecret(o)

export function releaseFiles(): ReadonlyMap<string, string> {
  const definitions = KINDS.map((kind) => crdOf(kind) as unknown as KubeObject)
  const objects = installObjects(releasedSettings())
  const parts = {
    'definitions.yaml': definitions,
    'cluster.yaml': objects.filter((o) => !isWorkload(o)),
    'workloads.yaml': objects.filter(isWorkload),
  }
  const base = {
    apiVersion: 'kustomize.config.k8s.io/v1beta1',
    kind: 'Kustomization',
    // As listed: definitions and namespaces come before what needs them.
    sortOptions: { order: 'fifo' },
    resources: Object.keys(parts),
  }
  return new Map([
    [INSTALL_FILE, yamlOf([...definitions, ...objects])],
    ...Object.entries(parts).map(([name, of]) => [`${KUSTOMIZE_DIRECTORY}/${name}`, yamlOf(of)] as const),
    [`${KUSTOMIZE_DIRECTORY}/kustomization.yaml`, yamlOf([base])],
    [`${SETTINGS_COMPONENT}/kustomization.yaml`, yamlOf([componentOf(releasedSettings())])],
  ])
}

/** Where a value is, by the name of a Deployment. */
interface Target {
  readonly deployment: string
  readonly path: string
}

const CONTAINER = 'spec.template.spec.containers.0'

/** Arguments that are this text. */
const inArgs = (settings: InstallSettings, text: string): readonly Target[] =>
  workloadsOf(settings).flatMap((workload) =>
    argsOf(workload, settings).flatMap((arg, n) =>
      arg === text ? [{ deployment: `kubenode-${workload}`, path: `${CONTAINER}.args.${n}` }] : [],
    ),
  )

const replacement = (key: string, at: readonly Target[], options?: object) => ({
  source: {
    kind: 'ConfigMap',
    name: SETTINGS_MAP,
    fieldPath: `data.${key}`,
    ...(options !== undefined && { options }),
  },
  targets: at.map(({ deployment, path }) => ({
    select: { kind: 'Deployment', name: deployment },
    fieldPaths: [path],
  })),
})

/** Puts the values of one ConfigMap where they belong, in all workloads. */
function componentOf(settings: InstallSettings): object {
  const targets: Readonly<Record<string, readonly Target[]>> = {
    cluster: inArgs(settings, PLACEHOLDERS.cluster),
    image: [
      ...workloadsOf(settings).map((w) => ({ deployment: `kubenode-${w}`, path: `${CONTAINER}.image` })),
      ...inArgs(settings, PLACEHOLDERS.image),
    ],
    apiServer: inArgs(settings, PLACEHOLDERS.apiServer),
    artifacts: inArgs(settings, `https://${PLACEHOLDERS.artifacts}/`),
  }
  return {
    apiVersion: 'kustomize.config.k8s.io/v1alpha1',
    kind: 'Component',
    replacements: [
      ...Object.entries(targets).map(([key, at]) => replacement(key, at)),
      // The URL contains the name for the certificate: https://NAME/
      replacement('artifacts', inArgs(settings, PLACEHOLDERS.artifacts), { delimiter: '/', index: 2 }),
    ],
  }
}
