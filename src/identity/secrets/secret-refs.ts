// What decisions need to know about Secrets: whether a configuration refers to any, and how often they are read. Pure.
import type { ConfiguredComponent } from '#api/kinds/component-config.ts'

/** Polling interval of objects that depend on Secrets. */
export const SECRET_REQUEUE_MS = 60_000

export interface SecretReference {
  readonly path: string
  readonly secret: { readonly name: string; readonly key?: string }
}

export interface WithReferences extends ConfiguredComponent {
  readonly secretRefs?: readonly SecretReference[] | undefined
}

export const hasSecretRefs = (components: readonly WithReferences[]): boolean =>
  components.some((c) => (c.secretRefs ?? []).length > 0)
