// Options of a provider that another program serves, in a providers file.
import { obj, optional, refine, str } from '#api/build.ts'
import { check } from '#api/extras.ts'
import { url } from '#api/fields.ts'
import { type DefinitionFor, path } from '../definition.ts'
import { PROVIDER_NAME } from './protocol.ts'
import { defined } from '#lib/defined.ts'

const onlyHttps = check('https', (value) =>
  typeof value === 'string' && !value.startsWith('https://') ? 'must start with https://' : undefined,
)

const exactlyOne = check('a socket or an address', (value) => {
  const { socket, url: address, ca, tokenFile } = Object(value) as Readonly<Record<string, unknown>>
  if ((socket === undefined) === (address === undefined)) return 'must have exactly one of socket, url'
  if (socket !== undefined && (ca !== undefined || tokenFile !== undefined))
    return 'takes ca and tokenFile with url only'
  return address !== undefined && ca === undefined ? 'must have ca with url' : undefined
})

const optionsSchema = refine(
  obj('Options of the provider remote.', {
    name: str('Name of the provider that is served there: the value of Machine.spec.provider.name.', {
      min: 1,
      max: 32,
      pattern: PROVIDER_NAME,
      expects: 'lower-case letters, digits and "-", starting with a letter',
    }),
    socket: optional(path('Unix socket of the program; it belongs to the user of this program, with mode 0600.')),
    url: optional(refine(url('Address of the program, https only.'), {}, { checks: [onlyHttps] })),
    ca: optional(path('With url: file with the authority of its certificate, in PEM; no other is believed.')),
    tokenFile: optional(path('With url: file with the bearer token to show.')),
  }),
  {},
  { checks: [exactlyOne] },
)

export const remoteDefinition: DefinitionFor<typeof optionsSchema> = {
  name: 'remote',
  doc: 'A provider that another program serves (kubenode-provider/v1): your own in any language, or one of KubeNode apart from the controllers. docs/operations/providers.md shows how.',
  optionsSchema,
  paths: ['socket', 'ca', 'tokenFile'],
  servedName: ({ name }) => name,
  async create({ name, socket, url: address = '', ca = '', tokenFile }, { clock, log }) {
    const { connectRemote } = await import('./provider.ts')
    return connectRemote({
      name,
      place:
        socket === undefined
          ? { kind: 'Https', url: address, ca, ...defined({ tokenFile }) }
          : { kind: 'Socket', path: socket },
      clock,
      log,
    })
  },
}
