// What a set declares in a fleet commit. Renders the commit in the cage and compares results, not files.
import { type MachineComponentSet, machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { canonicalJson, isObject } from '#lib/json.ts'
import { applyDefaults } from '#api/schema/default.ts'
import type { Targets } from '#delivery/desired.ts'

/** Components as one text in a fixed order, without server defaults and secret values. */
export function componentsText(components: readonly unknown[]): string {
  const spec = { spec: { components } }
  const filled = applyDefaults(machineComponentSet.schema, JSON.parse(JSON.stringify(spec)))
  const list = isObject(filled) && isObject(filled['spec']) ? filled['spec']['components'] : []
  const plain = (Array.isArray(list) ? list : [])
    .filter(isObject)
    .map((c) => Object.fromEntries(Object.entries(c).filter(([key]) => key !== 'sealed')))
  return canonicalJson(plain.toSorted((a, b) => (String(a['name']) < String(b['name']) ? -1 : 1)))
}

/** By cluster, where a set of this name is declared. */
export function declaredIn(targets: Targets, set: string): ReadonlyMap<string, string> {
  const found = [...targets].flatMap(([cluster, { objects }]): [string, string][] => {
    const object = objects.find(
      ({ object: o }) => o.kind === machineComponentSet.kind && o.metadata.name === set,
    )?.object
    return object === undefined ? [] : [[cluster, componentsText((object as MachineComponentSet).spec.components)]]
  })
  return new Map(found)
}
