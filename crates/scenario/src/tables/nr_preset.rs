//! Presets of NR cells: defaults of several keys of `nr` together.

use super::base::take;
use super::nr::{Nr, NrPreset};
use crate::quantity::{Bytes, Frequency, Share, Span};
use crossfade_core::SimTime;

impl Nr {
    /// Fills in the values of the preset for keys that the scenario does not give.
    pub(super) fn apply_preset(&mut self) {
        let Some(preset) = self.preset else { return };
        let ms = |count| Some(Span::exactly(SimTime::from_millis(count)));
        let mut fill = Nr::default();
        match preset {
            NrPreset::NrTdd40 => {}
            NrPreset::NrFdd10 => fill.divide_frequency(2.1e9),
            NrPreset::NrTdd100 => {
                fill.bandwidth = Some(Frequency(100e6));
                fill.pattern = Some("DDDDDDDSUU".to_owned());
                fill.special_slot = Some("6:4:4".to_owned());
                fill.layers = Some(4);
            }
            NrPreset::SrsranTdd100 => {
                // configs/gnb_ru_ran550_tdd_n78_100mhz_4x2.yml, configs/qos.yml (5QI 9), du_high_config.h.
                fill.bandwidth = Some(Frequency(100e6));
                fill.pattern = Some("DDDDDDDSUU".to_owned());
                fill.special_slot = Some("6:4:4".to_owned());
                fill.layers = Some(4);
                fill.harq.transmissions = Some(5);
                fill.target_bler = Some(Share(0.01));
                (fill.rlc.t_poll_retransmit, fill.rlc.t_reassembly) = (ms(20), ms(20));
            }
            NrPreset::OaiTdd40 => {
                // gnb.sa.band78.fr1.106PRB.usrpb210.conf, nr_rlc_oai_api.c, rrc_gNB_radio_bearers.c.
                fill.pattern = Some("DDDDDDDSUU".to_owned());
                fill.special_slot = Some("6:4:4".to_owned());
                fill.layers = Some(1);
                (fill.harq.k1, fill.uplink.k2) = (Some(2), Some(2));
                (fill.rlc.t_poll_retransmit, fill.rlc.t_reassembly) = (ms(45), ms(15));
                (fill.rlc.poll_pdu, fill.rlc.poll_byte) = (Some(64), Some(Bytes(500_000)));
                fill.rlc.t_status_prohibit = ms(15);
                fill.reordering = ms(100);
            }
            NrPreset::Lte10 => {
                fill.divide_frequency(2.1e9);
                (fill.bandwidth, fill.prbs) = (None, Some(50));
                (fill.mcs_table, fill.harq.processes) = (Some(1), Some(8));
                fill.uplink.sr_period = ms(10);
            }
            NrPreset::NrNtnLeo => {
                fill.divide_frequency(2e9);
                fill.layers = Some(1);
                fill.ntn.round_trip = Some(Span::exactly(SimTime::from_micros(25_770)));
                (fill.harq.processes, fill.harq.transmissions) = (Some(32), Some(5));
                fill.feedback.period = ms(40);
                (fill.rlc.t_poll_retransmit, fill.rlc.t_reassembly) = (ms(80), ms(150));
                fill.reordering = ms(500);
            }
            NrPreset::NrNtnGeo => {
                fill.divide_frequency(2e9);
                fill.layers = Some(1);
                fill.ntn.round_trip = Some(Span::exactly(SimTime::from_micros(541_460)));
                fill.ntn.harq_feedback = Some(false);
                (fill.harq.processes, fill.harq.transmissions) = (Some(32), Some(1));
                fill.feedback.period = ms(80);
                fill.uplink.sr_period = ms(320);
                (fill.rlc.t_poll_retransmit, fill.rlc.t_reassembly) = (ms(2000), ms(50));
                fill.reordering = ms(3000);
            }
            NrPreset::NrMmwaveBlockage => {
                fill.numerology = Some(3);
                (fill.bandwidth, fill.carrier) = (Some(Frequency(100e6)), Some(Frequency(28e9)));
                (fill.blockage.clear, fill.blockage.blocked) = (ms(5000), ms(299));
                fill.blockage.depth_db = Some(15.8);
            }
        }
        let is_frequency = self.pattern.as_deref() == Some("fdd");
        take(&mut self.numerology, fill.numerology);
        if self.prbs.is_none() && self.bandwidth.is_none() {
            (self.bandwidth, self.prbs) = (fill.bandwidth, fill.prbs);
        }
        take(&mut self.carrier, fill.carrier);
        take(&mut self.pattern, fill.pattern);
        if !is_frequency {
            take(&mut self.special_slot, fill.special_slot);
        }
        take(&mut self.layers, fill.layers);
        take(&mut self.mcs_table, fill.mcs_table);
        take(&mut self.feedback.period, fill.feedback.period);
        take(&mut self.harq.processes, fill.harq.processes);
        take(&mut self.harq.transmissions, fill.harq.transmissions);
        take(&mut self.harq.k1, fill.harq.k1);
        take(&mut self.target_bler, fill.target_bler);
        take(&mut self.reordering, fill.reordering);
        take(&mut self.blockage.clear, fill.blockage.clear);
        take(&mut self.blockage.blocked, fill.blockage.blocked);
        take(&mut self.blockage.depth_db, fill.blockage.depth_db);
        take(&mut self.ntn.round_trip, fill.ntn.round_trip);
        take(&mut self.ntn.harq_feedback, fill.ntn.harq_feedback);
        // The layers above HARQ exist only with an uplink.
        if !self.uplink.is_absent() {
            take(&mut self.uplink.sr_period, fill.uplink.sr_period);
            take(&mut self.rlc.t_poll_retransmit, fill.rlc.t_poll_retransmit);
            take(&mut self.rlc.t_reassembly, fill.rlc.t_reassembly);
            take(&mut self.rlc.poll_pdu, fill.rlc.poll_pdu);
            take(&mut self.rlc.poll_byte, fill.rlc.poll_byte);
            take(&mut self.rlc.t_status_prohibit, fill.rlc.t_status_prohibit);
            take(&mut self.uplink.k2, fill.uplink.k2);
        }
    }

    /// Sets frequency division duplex with 10 MHz in each direction at 15 kHz and this carrier frequency.
    fn divide_frequency(&mut self, carrier_hz: f64) {
        self.numerology = Some(0);
        self.bandwidth = Some(Frequency(10e6));
        self.carrier = Some(Frequency(carrier_hz));
        self.pattern = Some("fdd".to_owned());
    }
}
