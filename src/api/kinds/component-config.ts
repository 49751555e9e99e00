// ComponentConfig: one immutable rendering of a component's configuration, named by its hash; machines refer to it. CEL cannot read free-form values, so the
// server protects only the digest, and readers verify the values against it.
import { createHash } from 'node:crypto'
import { defined } from '#lib/defined.ts'
import { canonicalJson } from '#lib/json.ts'
import { configObjectName } from '#lib/names.ts'
import type { JsonObject } from '#lib/json.ts'
import type { ComponentVersion } from '../protocol/component-order.ts'
import { text, wide } from '../columns.ts'
import * as s from '../build.ts'
import * as f from '../fields.ts'
import { API_GROUP_VERSION, defineKind, type InputOf, type ObjectOf } from '../kind.ts'

export const MAX_CONFIG_BYTES = 256 * 1024

/** A configuration's reference to a secret value: where it goes, which objects contain it sealed, and its source. */
export interface SecretPlace {
  readonly path: string
  readonly sealedIn?: string
  readonly secret?: { readonly name: string; readonly key?: string }
}

/** SHA-256 of the canonical values and the secret references: equal configurations share a name. */
export function configDigest(values: JsonObject, secrets: readonly SecretPlace[] = []): string {
  const hash = createHash('sha256').update(canonicalJson(values))
  if (secrets.length > 0) {
    const secretsText = secrets
      .toSorted((a, b) => (a.path < b.path ? -1 : 1))
      .map(({ path, sealedIn = null }) => [path, sealedIn])
    // Canonical JSON has no line ends, so values alone never produce this.
    hash.update(`\n${canonicalJson(secretsText)}`)
  }
  return hash.digest('hex')
}

/** The fields of a set's or canary's component that make up a configuration. */
export interface ConfiguredComponent {
  readonly name: string
  readonly values?: JsonObject | undefined
  readonly secretRefs?: readonly { readonly path: string }[] | undefined
  /** The secret values; without them, those of `secretRefs` are not known yet. */
  readonly sealed?: readonly SecretPlace[]
}

/** A component declared by a set, a kept revision or a canary. */
export interface DeclaredComponent extends ConfiguredComponent {
  readonly version: string
}

/** A configuration's name follows from its values; without values there is none. */
export const declaredTarget = (declared: DeclaredComponent): ComponentVersion => ({
  name: declared.name,
  version: declared.version,
  ...defined({ config: renderedConfig(declared)?.object }),
})

export interface Rendered {
  /** Name of the ComponentConfig. */
  readonly object: string
  readonly digest: string
  readonly values: JsonObject
  readonly secrets: readonly SecretPlace[]
  /** False: a secret value was not found, and no object with this name is ever created. */
  readonly isWhole: boolean
}

/** Undefined if there is nothing to configure. */
export function renderedConfig({ name, values, secretRefs = [], sealed }: ConfiguredComponent): Rendered | undefined {
  if (values === undefined && secretRefs.length === 0) return undefined
  const secrets: readonly SecretPlace[] =
    secretRefs.length === 0 ? [] : (sealed ?? secretRefs.map(({ path }) => ({ path })))
  const digest = configDigest(values ?? {}, secrets)
  const isWhole = secretRefs.length === 0 || sealed !== undefined
  return { object: configObjectName(name, digest), digest, values: values ?? {}, secrets, isWhole }
}

const spec = s.immutable(
  s.obj('The rendered configuration. Immutable.', {
    component: f.componentName('The component that it configures.'),
    digest: f.sha256('SHA-256 of the canonical JSON of the values and of the paths of secret values.'),
    values: s.freeform('Values for the file templates.', { maxBytes: MAX_CONFIG_BYTES }),
    secrets: s.optional(
      s.mapList(
        'The secret values. They are not stored here, but encrypted in a separate object for each machine.',
        s.obj('One secret value.', {
          path: s.str('Path of the value in the configuration.', { min: 1, max: 253 }),
          sealedIn: s.optional(f.objectName('Name prefix of the objects with the encrypted value.')),
          secret: s.optional(f.secretRef('The Secret that contains the value.')),
        }),
        { keys: ['path'], max: 32 },
      ),
    ),
  }),
  'a ComponentConfig is immutable; create another object for other values',
)

const exampleValues = { root: '/var/lib/containerd', registry: { mirrors: ['https://mirror.example.org'] } }

export const componentConfig = defineKind('ComponentConfig', 'kcfg', {
  doc: 'One immutable rendered configuration of a component, named by its hash; machines reference it.',
  spec,
  selectable: ['.spec.component'],
  columns: [text('Component', '.spec.component'), wide(text('Digest', '.spec.digest'))],
  checks: [
    {
      name: 'the digest matches the values',
      findings: ({ spec: s }) => {
        const digest = configDigest(s.values, s.secrets)
        return digest === s.digest
          ? []
          : [{ pointer: 'spec/digest', message: 'is not the digest of the values', allowed: digest }]
      },
    },
    {
      name: 'the name consists of component and digest',
      findings: ({ metadata, spec: s }) => {
        const name = configObjectName(s.component, s.digest)
        return metadata.name === name
          ? []
          : [{ pointer: 'metadata/name', message: 'does not match component and digest', allowed: name }]
      },
    },
  ],
  example: {
    metadata: { name: configObjectName('containerd', configDigest(exampleValues)) },
    spec: { component: 'containerd', digest: configDigest(exampleValues), values: exampleValues },
  },
})

export type ComponentConfig = ObjectOf<typeof componentConfig>
export type ComponentConfigInput = InputOf<typeof componentConfig>

/** The object itself. Only for a complete configuration. */
export const configObject = (
  component: string,
  { object, digest, values, secrets }: Rendered,
): ComponentConfigInput => ({
  apiVersion: API_GROUP_VERSION,
  kind: componentConfig.kind,
  metadata: { name: object },
  spec: { component, digest, values, ...(secrets.length > 0 && { secrets }) },
})
