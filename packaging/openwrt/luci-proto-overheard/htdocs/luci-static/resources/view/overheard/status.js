'use strict';
'require fs';
'require poll';
'require view';

// The nodes that run, as `overheard status --json` describes them: one in a line, and web caches beside them.
function readStatus() {
	return fs.exec_direct('/usr/bin/overheard', [ 'status', '--json' ]).then(function(text) {
		return text.split('\n').filter(Boolean).map(JSON.parse).filter(function(report) {
			return report.node;
		});
	}).catch(function() {
		return [];
	});
}

function rate(share) {
	return share == null ? '-' : '%.1f%%'.format(share * 100);
}

function offered(counters) {
	return counters.inner_sent_bytes + counters.streams.sent_bytes;
}

function saved(counters) {
	const before = offered(counters), after = counters.outer_sent_bytes;
	return before > after ? rate((before - after) / before) : '-';
}

function session(peer) {
	if (peer.session_age_seconds == null)
		return E('em', _('none'));
	return '%t%s'.format(peer.session_age_seconds, peer.reachable ? '' : ' (%s)'.format(_('silent')));
}

function nodeOf(report) {
	const rows = report.node.peers.map(function(peer) {
		return E('tr', { 'class': 'tr' }, [
			peer.name,
			peer.endpoint || '-',
			session(peer),
			peer.srtt_seconds == null ? '-' : '%.1f ms'.format(peer.srtt_seconds * 1000),
			rate(peer.loss),
			'%1024mB'.format(offered(peer.counters)),
			saved(peer.counters),
			'%1024mB'.format(peer.counters.inner_received_bytes + peer.counters.streams.received_bytes)
		].map(function(cell) {
			return E('td', { 'class': 'td' }, cell);
		}));
	});
	const silent = (report.silent || []).map(function(it) {
		return E('div', { 'class': 'alert-message warning' }, '%h: %h'.format(it.peer, it.reason));
	});
	return E('div', { 'class': 'cbi-section' }, [
		E('h3', report.interface),
		E('div', silent),
		E('table', { 'class': 'table' }, [
			E('tr', { 'class': 'tr table-titles' }, [
				_('Peer'), _('Endpoint'), _('Session'), _('RTT'), _('Loss'), _('Offered'), _('Saved'), _('Delivered')
			].map(function(title) {
				return E('th', { 'class': 'th' }, title);
			}))
		].concat(rows))
	]);
}

function body(reports) {
	if (!reports.length)
		return E('p', { 'class': 'alert-message notice' }, _('No tunnel runs. The system log has the reason.'));
	return E('div', reports.map(nodeOf));
}

return view.extend({
	load: readStatus,

	render: function(reports) {
		const shown = E('div', body(reports));
		poll.add(function() {
			return readStatus().then(function(now) {
				shown.replaceChildren(body(now));
			});
		}, 5);
		return E([], [ E('h2', _('Overheard')), shown ]);
	},

	handleSave: null,
	handleSaveApply: null,
	handleReset: null
});
