// Pure: operating system features as node-problem-detector reports them: kernel command line switches, and out-of-tree modules.
import { defined } from '#lib/defined.ts'
import { isObject } from '#lib/json.ts'
import type { Sample } from './exposition.ts'

export interface FeatureTexts {
  /** /proc/cmdline. */
  readonly cmdline: string
  /** /proc/modules. */
  readonly modules: string
  /** A JSON list of {moduleName}; empty: none is known. */
  readonly knownModules: string
}

const isOn = (cmdline: string, name: string): boolean =>
  // A quoted value may contain spaces, but none of these options has one.
  cmdline
    .trim()
    .split(/\s+/)
    .some((word) => word === `${name}=1`)

export function osFeatures({ cmdline, modules, knownModules }: FeatureTexts): readonly Sample[] {
  const sample = (feature: string, on: boolean, value?: string): Sample => ({
    labels: { os_feature: feature, ...defined({ value }) },
    value: on ? 1 : 0,
  })
  const loaded = modules.split('\n').map((line) => line.split(' '))
  const known = knownNames(knownModules)
  const foreign = loaded.flatMap(([name = '', , , , , , taint = '']) =>
    /[PO]/.test(taint) && !name.includes('nvidia') && !known.has(name) ? [name] : [],
  )
  return [
    sample('KTD', isOn(cmdline, 'csm.enabled')),
    sample('UnifiedCgroupHierarchy', isOn(cmdline, 'systemd.unified_cgroup_hierarchy')),
    sample('KernelModuleIntegrity', isOn(cmdline, 'module.sig_enforce') && isOn(cmdline, 'loadpin.enabled')),
    sample('UnknownModules', foreign.length > 0, foreign.length > 0 ? foreign.join(',') : undefined),
    sample(
      'GPUSupport',
      loaded.some(([name = '']) => name.includes('nvidia')),
    ),
  ]
}

function knownNames(text: string): ReadonlySet<string> {
  try {
    const list: unknown = JSON.parse(text === '' ? '[]' : text)
    return new Set(Array.isArray(list) ? list.filter(isObject).map((m) => String(m['moduleName'])) : [])
  } catch {
    return new Set()
  }
}
