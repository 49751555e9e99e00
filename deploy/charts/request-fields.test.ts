// A real API server leaves empty fields out of `request`: an expression that names one plainly fails for cluster-scoped objects, and the policy refuses.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '../..')
const GUARDED = /\(has\(request\.(\w+)\) \? request\.\1 : ''\)|!has\(request\.(\w+)\) \|\| request\.\2\b/g

test.each(['deploy/install/3-policies.yaml', 'deploy/install.yaml', 'deploy/kustomize/cluster.yaml'])(
  'no expression of %s names a field of the request that may be absent',
  (file) => {
    // Long expressions are folded in YAML.
    const text = readFileSync(join(ROOT, file), 'utf8').replaceAll(/\s+/g, ' ')
    expect(text.match(GUARDED)?.length ?? 0).toBeGreaterThan(5)
    expect(text.replaceAll(GUARDED, '').match(/request\.(namespace|subResource|requestSubResource)\b/g)).toBeNull()
  },
)
