// The numbered errors of kubenode provider.
import { errorTable } from '#lib/error-table.ts'

export const providerErrors = errorTable({
  KN1002_provider: {
    text: 'which provider?',
    next: 'name its --socket, or its --url (https) with --ca',
  },
  KN1002_parameter: {
    text: 'cannot use the parameter {text}',
    next: 'write --params KEY=VALUE, once for each',
  },
  KN1002_wait: {
    text: 'cannot wait for {timeout}',
    next: 'give a duration such as 30s or 10m',
  },
  KN1002_served: {
    text: 'where is the provider served?',
    next: 'give --socket FILE and --name NAME, or --listen ADDRESS:PORT with --cert, --key and --token-file',
  },
  KN1704: {
    text: 'cannot serve {name}: {file} has no provider of this name',
    next: 'use one of {names}, or add it to the file',
  },
  KN1313_host: {
    text: 'cannot approve the deletion of {host}: it is not listed as a host without a Machine{hint}',
    next: 'kubenode provider orphans lists the hosts that belong to no Machine',
  },
  KN1329_provider: {
    text: 'cannot serve providers with {file}: {why}',
    next: 'name a certificate, its key and a file with a long random token',
  },
})
