// Names in sentences of a page, as people say them: "node n-3" for the reference node/n-3, which terminals show because commands take it. Pure.
import { NOUNS } from '#api/nouns.ts'

/** What a reference may begin with, and what is said. */
const SAID: ReadonlyMap<string, string> = new Map([
  ...Object.entries(NOUNS).flatMap(([noun, kind]): readonly (readonly [string, string])[] => [
    [kind.toLowerCase(), noun],
    [noun, noun],
  ]),
  ...['node', 'machine', 'cluster', 'release'].map((noun) => [noun, noun] as const),
  ['machineset', 'machine set'],
  ['machinecomponentset', 'set'],
  ['maintenanceevent', 'maintenance event'],
  ['noderemedier', 'rule'],
  ['remedier', 'rule'],
])

/** A command, as far as its sentence; or a reference that no path continues. */
const PARTS = new RegExp(
  String.raw`\b(?:kubenode|kubectl|git) [^;:,)]*|(?<![\w/.-])(${[...SAID.keys()].join('|')})(?:\.kubenode\.io)?/([a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)(?![\w/-]|\.\w)`,
  'gi',
)

export const withReadableNames = (text: string): string =>
  text.replace(PARTS, (whole: string, kind?: string, name?: string) =>
    kind === undefined || name === undefined ? whole : `${SAID.get(kind.toLowerCase()) ?? kind} ${name}`,
  )
