// The numbered errors of kube.
import { errorTable } from '#lib/error-table.ts'

export const kubeErrors = errorTable({
  KN2001: {
    text: 'cannot {action}: {why}',
    next: 'check the address, and that the API server is running',
  },
  KN2001_timeout: {
    text: 'cannot {what}: {missing} within {ms} ms',
    next: 'check that the API server is reachable and not overloaded',
  },
  KN2004: {
    text: "cannot {action}: {why}: the server's certificate is not signed by the configured certificate authority",
    next: 'check certificate-authority-data and the address',
  },
  KN2003: {
    text: "cannot {action}: {why}: the server's certificate has expired",
    next: 'renew the certificate of the API server; if it is still valid, set the clock of this machine',
  },
  KN1408_notYetValid: {
    text: "cannot {action}: {why}: the server's certificate is not valid yet by the clock of this machine",
    next: 'set the clock of this machine, or wait if that of the API server is ahead',
  },
  KN2008: {
    text: "cannot {action}: {why}: the server's certificate is for another name or address",
    next: 'use an address that the certificate names, or set tls-server-name of the cluster in the kubeconfig',
  },
  KN2005: {
    text: 'cannot {what}: the response has more than {maxBodyLength} characters',
    next: 'request smaller pages',
  },
  KN2005_list: {
    text: 'cannot list {plural}: all of them have more than {maxLength} characters',
    next: 'no cluster has as many; check who writes them there',
  },
  KN2005_empty: {
    text: 'cannot list {plural}: the server has sent {most} pages without an object, and reports that more follow',
    next: 'check what answers at this address: no API server does that',
  },
  KN2005_endless: {
    text: 'cannot list {plural}: the server has sent more than {most} objects, and reports that more follow',
    next: 'check what answers at this address: no cluster has as many',
  },
  KN2005_kept: {
    text: 'cannot keep the objects of this cluster: they have more than {maxLength} characters',
    next: 'no cluster has as many; check who writes them there',
  },
  KN1314_content: {
    text: 'cannot {action} {target}: the response is {seen}',
    next: "check that the address is an API server and not a proxy's login page",
  },
  KN2010: {
    text: 'cannot connect to {server}: not an https address',
    next: 'use an address such as https://host:6443',
  },
  KN2010_plain: {
    text: 'cannot connect to {host} over plain http: only a proxy on this host, without credentials, is allowed',
    next: 'use https',
  },
  KN1301_file: {
    text: 'cannot read {what} from {file}: {why}',
    next: 'check that the file exists and is readable',
  },
  KN1044_requests: {
    text: 'cannot queue another request: {maxWaiting} are already waiting for this API server',
    next: 'send fewer requests',
  },
  KN2014: {
    text: 'cannot {action} {target}: {bad} cannot be the name of an object',
    next: 'correct the name',
  },
  KN2015: {
    text: 'cannot use context {context}: not found in {files}',
    next: 'use one of: {known}',
  },
  KN2015_none: {
    text: 'no context is chosen: {files} sets no current-context',
    next: 'give --context with one of: {known}; or run kubectl config use-context NAME',
  },
  KN1301_parse: {
    text: 'cannot read the kubeconfig {file}: {code}',
    next: 'check it with kubenode lint',
  },
  KN2017: {
    text: 'cannot use the service account of this pod: the environment does not contain the address of the API server',
    next: 'run inside a pod or give a kubeconfig',
  },
  KN2010_proxy: {
    text: 'cannot connect to cluster {cluster}: its proxy is neither http nor https',
    next: 'use a proxy-url such as http://host:3128, or reach the server directly',
  },
  KN2019: {
    text: 'cannot log in as user {user}: API servers no longer support passwords',
    next: 'use a token or a client certificate',
  },
  KN1348_label: {
    text: 'cannot read the label selector {text}: {why}',
    next: 'write one like pool=gpu,zone in (a,b),!spare',
  },
  KN1348_field: {
    text: 'cannot read the field selector {text}: {part} is not path=value',
    next: 'write one like metadata.name=m-1',
  },
  KN2014_path: {
    text: 'cannot {action} {target}: a path must start with a slash and contain no white space',
    next: 'correct the path',
  },
  KN2010_parts: {
    text: 'cannot connect to {host}: the address contains a user, a query or a fragment',
    next: 'use only scheme, host, port and path',
  },
  KN2015_cluster: {
    text: 'cannot use context {context}: its cluster is missing from the kubeconfig',
    next: 'add the cluster, or use another context',
  },
  KN2025: {
    text: 'cannot log in as user {user}: its credential plugin failed: {why}',
    next: 'run the plugin manually to see its error',
  },
  KN2017_token: {
    text: 'cannot use the service account of this pod: cannot read its token from {file}: {why}',
    next: 'mount a token there for the user of this process, with automountServiceAccountToken or a projected volume',
  },
  KN2017_authority: {
    text: 'cannot use the service account of this pod: cannot read the certificate authority from {file}: {why}',
    next: 'mount the ConfigMap kube-root-ca.crt there, as the file ca.crt',
  },
  KN2019_field: {
    text: 'cannot use the kubeconfig {file}: {field} of user {user} is not supported',
    next: 'remove it, or use another user',
  },
  KN2410_broken: {
    text: 'cannot read a watch event of more than {limit} bytes ({bytes} received so far)',
    next: 'the watch is closed and reopened automatically',
  },
  KN2410_end: {
    text: 'the stream ended in the middle of a line, after {bytes} bytes',
    next: 'the connection was lost; retried automatically',
  },
  KN2410_content: {
    text: 'cannot {action} {target}: the stream contains {seen}',
    next: 'the watch is reopened automatically',
  },
  KN2410_stale: {
    text: 'cannot use the list of {type}: its revision {now} is older than {seen}, which was already observed; the API server lags or was restored from a backup',
    next: 'retried automatically',
  },
})
