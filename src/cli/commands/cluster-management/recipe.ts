// `kubenode cluster recipe`: the ConfigMap of an addon, and the lines by which a commit names it. Contacts no server.
import { resolve } from 'node:path'
import { stringify } from 'yaml'
import { makeRecipe } from '#api/constructs/addons/make-recipe.ts'
import { readBoundedText, STANDARD_INPUT } from '#lib/bounded-file.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { systemTrouble } from '#lib/system-trouble.ts'
import { printableLine, shownLine } from '#lib/printable.ts'
import type { Io } from '#lib/terminal/io.ts'
import { cliErrors } from '../../cli-errors.ts'

export interface RecipeAsked {
  readonly addon: string
  readonly version: string
  readonly filename: string
  readonly kubernetes: string
  readonly image?: readonly string[]
  readonly afterNodes?: boolean
}

const REFUSALS = {
  name: cliErrors.KN1734_name,
  version: cliErrors.KN1734_version,
  minors: cliErrors.KN1734_minors,
  manifests: cliErrors.KN1734,
} as const

export function printRecipe(asked: RecipeAsked, io: Io): void {
  const { addon, version, filename, kubernetes, image = [], afterNodes = false } = asked
  const name = printableLine(`${addon} ${version}`)
  let manifests: string
  try {
    manifests = readBoundedText(filename === '-' ? STANDARD_INPUT : resolve(io.cwd, filename))
  } catch (cause) {
    const [file, why] = [printableLine(filename), systemTrouble(cause)]
    throw new KubeNodeError(cliErrors.KN1734_file({ name, file, why }), { cause })
  }
  const made = makeRecipe({
    name: addon,
    version,
    kubernetes,
    isAfterNodes: afterNodes,
    manifests,
    images: new Map(image.map(replacement)),
  })
  if ('why' in made) throw new KubeNodeError(REFUSALS[made.of]({ name, why: printableLine(made.why) }))
  io.out(stringify(made.configMap))
  io.err(
    shownLine(
      `an administrator applies this to the hub; a Cluster then names it: addons: [{ name: '${addon}', version: '${version}', recipe: '${made.digest}' }]`,
    ),
  )
}

/** Of an image with a digest as the old one, which has no `=` either. */
function replacement(text: string): readonly [string, string] {
  const [old = '', image = '', ...rest] = text.split('=')
  if (old === '' || image === '' || rest.length > 0)
    throw new KubeNodeError(cliErrors.KN1734_image({ text: JSON.stringify(text) }))
  return [old, image]
}
