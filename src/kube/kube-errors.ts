// The numbered errors of kube.
import { errorTable } from '#lib/error-table.ts'

export const kubeErrors = errorTable({
  KN2001: {
    text: 'cannot {action}: {why}',
    next: 'check the address, and that the API server runs',
  },
  KN2002: {
    text: 'cannot {what}: {what2} within {ms} ms',
    next: 'check that the API server is reachable and not overloaded',
  },
  KN2003: {
    text: 'the watch of {type} was cut off',
    next: 'it will be opened again',
  },
  KN2004: {
    text: "cannot {action}: {why}: the server's certificate is not signed by the configured certificate authority",
    next: 'check certificate-authority-data and the address',
  },
  KN2005: {
    text: 'cannot {what}: the answer has more than {maxBodyLength} characters',
    next: 'ask for smaller pages',
  },
  KN2006: {
    text: 'cannot {action} {target}: the answer is {seen}',
    next: "check that the address is an API server and not a proxy's login page",
  },
  KN2010: {
    text: 'cannot connect to {server}: not an https address',
    next: 'write one like https://host:6443',
  },
  KN2011: {
    text: 'cannot connect to {host} over plain http: only a proxy on this machine, without credentials, may be reached so',
    next: 'use https',
  },
  KN2012: {
    text: 'cannot read {what} from {file}: {why}',
    next: 'check that the file is there and readable',
  },
  KN2013: {
    text: 'cannot queue another request: {maxWaiting} wait for this API server already',
    next: 'slow down',
  },
  KN2014: {
    text: 'cannot {action} {target}: the name is empty',
    next: 'give a name',
  },
  KN2015: {
    text: 'cannot use context {context}: not found in {files}',
    next: 'use one of: {known}',
  },
  KN2016: {
    text: 'cannot read the kubeconfig {file}: {code}',
    next: 'check it with kubenode lint',
  },
  KN2017: {
    text: 'cannot use the service account of this pod: the address of the API server is not in the environment',
    next: 'run inside a pod or give a kubeconfig',
  },
  KN2018: {
    text: 'cannot connect to cluster {cluster}: it asks for a proxy, which is not supported',
    next: 'remove proxy-url or reach the server directly',
  },
  KN2019: {
    text: 'cannot log in as user {user}: API servers do not understand passwords any more',
    next: 'use a token or a client certificate',
  },
  KN2020: {
    text: 'cannot read the label selector {text}: {why}',
    next: 'write one like pool=gpu,zone in (a,b),!spare',
  },
  KN2021: {
    text: 'cannot read the field selector {text}: {part} is not path=value',
    next: 'write one like metadata.name=m-1',
  },
  KN2022: {
    text: 'cannot {action} {target}: a path starts with a slash and has no white space',
    next: 'correct the path',
  },
  KN2023: {
    text: 'cannot connect to {host}: the address has a user, a query or a fragment',
    next: 'leave only scheme, host, port and path',
  },
  KN2024: {
    text: 'cannot use context {context}: its cluster is missing from the kubeconfig',
    next: 'add the cluster, or use another context',
  },
  KN2025: {
    text: 'cannot log in as user {user}: its credential plugin failed: {why}',
    next: 'run the plugin by hand',
  },
  KN2030: {
    text: 'cannot read a watch event of more than {limit} bytes ({bytes} seen so far)',
    next: 'the watch is given up and opened again',
  },
  KN2031: {
    text: 'the stream ended inside a line, after {bytes} bytes of it',
    next: 'the connection was lost',
  },
  KN2032: {
    text: 'cannot {action} {target}: the stream holds {seen}',
    next: 'the watch is opened again',
  },
  KN2040: {
    text: 'cannot take the list of {type} as the truth: it is of revision {now}, and {seen} was seen already; the API server lags or was set back',
    next: 'it is asked again',
  },
})
