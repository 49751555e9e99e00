// Options of existing hosts in a providers file.
import { obj, optional } from '#api/build.ts'
import { path, type DefinitionFor } from '../definition.ts'

const optionsSchema = obj('Options of the provider static.', {
  notes: optional(path('Folder for notes about which Machine has which host; kept in memory when left out.')),
})

export const staticDefinition: DefinitionFor<typeof optionsSchema> = {
  name: 'static',
  doc: 'Hosts that exist before their Machine and stay after it. Always served; list it to keep its notes in a folder.',
  optionsSchema,
  paths: ['notes'],
  isAlwaysServed: true,
  async create({ notes }, { clock }) {
    const { StaticProvider, notesIn, notesInMemory } = await import('./provider.ts')
    return new StaticProvider({ notes: notes === undefined ? notesInMemory() : await notesIn(notes), clock })
  },
}
